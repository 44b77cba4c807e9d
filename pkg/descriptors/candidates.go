package descriptors

import (
	"net/netip"
	"slices"
)

// candidates finds the nodes of a level that take a value, the most specific
// first, one by one.
type candidates struct {
	observe func(Step) // may be nil
	depth   int
	level   *choices
	value   string

	kind  MatcherKind // which kind is being tried
	index int         // how many of it have been
	addr  netip.Addr  // the value, once networks are tried
}

// next is the next candidate, nil if there is none left.
func (c *candidates) next() *node {
	for c.kind <= MatchKey {
		if n := c.try(); n != nil {
			return n
		}
		c.kind, c.index = c.kind+1, 0
	}
	return nil
}

// try is the next candidate of a kind.
func (c *candidates) try() *node {
	switch c.kind {
	case MatchExact:
		if c.index == 0 && c.level.exact != nil {
			c.index++
			n := c.level.exact[c.value]
			return c.look(n, n != nil)
		}
	case MatchPattern:
		return c.pattern()
	case MatchCIDR:
		if c.level.networks != nil {
			return c.network()
		}
	case MatchRegex:
		for c.index < len(c.level.regexes) {
			r := &c.level.regexes[c.index]
			c.index++
			if n := c.look(r.node, r.re.MatchString(c.value)); n != nil {
				return n
			}
		}
	case MatchKey:
		if c.index == 0 && c.level.any != nil {
			c.index++
			return c.look(c.level.any, true)
		}
	}
	return nil
}

func (c *candidates) pattern() *node {
	patterns := c.level.patterns
	for c.index < len(patterns) {
		p := &patterns[c.index]
		c.index++
		n := c.look(p.node, p.matches(c.value))
		if n != nil && !(n.many && c.seen(n)) {
			return n
		}
	}
	return nil
}

// seen tells whether a node was a candidate before, by another pattern of it.
// Without this, nested lists would make a fallback visit a node as often as
// there are ways to it.
func (c *candidates) seen(n *node) bool {
	if c.level.exact[c.value] == n {
		return true
	}
	return slices.ContainsFunc(c.level.patterns[:c.index-1], func(p patternNode) bool {
		return p.node == n && p.matches(c.value)
	})
}

// network tries the longest prefix first: c.index counts prefix lengths.
func (c *candidates) network() *node {
	if c.index == 0 {
		addr, err := netip.ParseAddr(c.value)
		if err != nil {
			return nil
		}
		c.addr = addr.Unmap().WithZone("")
	}
	nets := c.level.networks
	lengths := nets.lengths(c.addr)
	for c.index < len(lengths) {
		bits := lengths[c.index]
		c.index++
		n := nets.at(c.addr, bits)
		if n = c.look(n, n != nil); n != nil && !(n.many && nets.has(c.addr, lengths[:c.index-1], n)) {
			return n
		}
	}
	return nil
}

// look tells the observer, and is the node if it is taken.
func (c *candidates) look(n *node, taken bool) *node {
	if c.observe != nil {
		step := Step{Depth: c.depth, Kind: c.kind, Taken: taken}
		if n != nil {
			step.Rule = n.rule
		}
		c.observe(step)
	}
	if !taken {
		return nil
	}
	return n
}

// networks finds the longest prefix that holds an address, with a map look-up
// for each length that occurs.
type networks struct {
	nodes  map[netip.Prefix]*node
	v4, v6 []int // lengths, the longest first
}

func (s *networks) lengths(addr netip.Addr) []int {
	if addr.Is4() {
		return s.v4
	}
	return s.v6
}

func (s *networks) at(addr netip.Addr, bits int) *node {
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return nil
	}
	return s.nodes[prefix]
}

// has tells whether one of these lengths leads to n.
func (s *networks) has(addr netip.Addr, lengths []int, n *node) bool {
	return slices.ContainsFunc(lengths, func(bits int) bool { return s.at(addr, bits) == n })
}

func (s *networks) add(prefix netip.Prefix, n *node) {
	s.nodes[prefix] = n
	lengths := &s.v6
	if prefix.Addr().Is4() {
		lengths = &s.v4
	}
	at, found := slices.BinarySearchFunc(*lengths, prefix.Bits(), func(a, b int) int { return b - a })
	if !found {
		*lengths = slices.Insert(*lengths, at, prefix.Bits())
	}
}
