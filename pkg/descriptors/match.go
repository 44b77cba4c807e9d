package descriptors

import "regexp"

// node is a compiled node of the rule tree.
type node struct {
	rule *Rule               // nil for the root
	keys map[string]*choices // by the key of the next entry; nil below the last rule
	many bool                // several patterns or networks lead here
	// children are the nodes of all keys, in an order that depends on nothing
	// but what they say.
	children []*node
}

// choices is what one level says about one key.
type choices struct {
	exact    map[string]*node
	patterns []patternNode // the most specific first
	networks *networks
	regexes  []regexNode // in the order of their list
	any      *node
}

type patternNode struct {
	pattern
	node *node
}

type regexNode struct {
	re   *regexp.Regexp
	node *node
}

// Match finds the rule at which a descriptor ends: from left to right, one level
// of the tree for each entry. It is safe for concurrent use, and allocates
// nothing where only exact and key-only rules are met.
func (d *Domain) Match(entries []Entry) Match {
	if len(entries) == 0 {
		return Match{Reason: TooShort}
	}
	w := walk{entries: entries, fallback: d.fallback}
	return w.from(d.root, 0)
}

// Step is one look of a match at a level.
type Step struct {
	Depth int // which entry
	Kind  MatcherKind
	Rule  *Rule // the rule looked at; nil where none has that exact value
	Taken bool  // it takes the entry's value
}

// MatcherKind is how a rule picks values, in the order in which they are tried.
type MatcherKind uint8

const (
	MatchExact MatcherKind = iota
	MatchPattern
	MatchCIDR
	MatchRegex
	MatchKey
)

var matcherNames = [...]string{"exact", "pattern", "cidr", "regex", "key"}

func (k MatcherKind) String() string { return matcherNames[k] }

// Observe is Match that tells each step of its way. Under match: fallback it
// goes on where a branch leads nowhere.
func (d *Domain) Observe(entries []Entry, observe func(Step)) Match {
	if len(entries) == 0 {
		return Match{Reason: TooShort}
	}
	w := walk{entries: entries, fallback: d.fallback, observe: observe}
	return w.from(d.root, 0)
}

// walk is one match.
type walk struct {
	entries  []Entry
	fallback bool
	observe  func(Step) // may be nil
}

// from matches the entries from depth on below n. The rule is nil if they lead
// nowhere; the reason is then that of the most specific branch.
func (w *walk) from(n *node, depth int) Match {
	if depth == len(w.entries) {
		return n.end()
	}
	entry := &w.entries[depth]
	level := n.keys[entry.Key]
	if level == nil {
		if n.keys == nil {
			return Match{Reason: TooDeep}
		}
		return Match{Reason: NoKey}
	}
	c := candidates{observe: w.observe, depth: depth, level: level, value: entry.Value}
	next := c.next()
	if next == nil {
		return Match{Reason: NoValue}
	}
	first := w.from(next, depth+1)
	if !w.fallback || first.Rule != nil {
		return first
	}
	for next = c.next(); next != nil; next = c.next() {
		if m := w.from(next, depth+1); m.Rule != nil {
			return m
		}
	}
	return first
}

// end is the match of a descriptor that ends at n.
func (n *node) end() Match {
	switch {
	case len(n.rule.Limits) > 0:
		return Match{Rule: n.rule, Reason: Matched}
	case n.keys == nil:
		return Match{Rule: n.rule, Reason: Whitelisted}
	}
	return Match{Reason: TooShort}
}
