package descriptors

import (
	"slices"
	"strings"
)

// checkBranch looks for what a node says in vain, or against itself.
func (b *builder) checkBranch(br *branch) {
	first := br.parts[0]
	if strings.Contains(br.key, "*") {
		b.warn(first.key.at, "patterns go into value", "a key is never a pattern: %s is matched as it stands", quoted(br.key))
	}
	if br.share {
		b.checkShare(br)
	}
	if br.sensitive && len(br.selector.exact) > 0 {
		b.warn(br.selector.at, "", "the value of a sensitive rule stands in this file; elsewhere it is shown as a number")
	}
	for _, f := range limitFlags {
		// Control planes set flags on the way to a limit, too.
		if *f.to(br) && !br.enforces() && !first.document.decoded {
			b.warn(br.markOf(f.of), "leave it out", "%s has no effect without a limit", f.name)
		}
	}
	if br.shadow && br.quota {
		b.warn(br.markOf(func(d *descriptor) *setting[bool] { return &d.quota }), "leave one of them out", "quota_mode has no effect beside shadow_mode: a shadow limit never denies")
	}
	if br.detailed && br.valueToMetric {
		b.warn(br.markOf(func(d *descriptor) *setting[bool] { return &d.valueToMetric }), "leave one of them out", "value_to_metric has no effect beside detailed_metric, which counts by all values")
	}
}

// checkShare holds share_threshold to nodes that take more than one value.
func (b *builder) checkShare(br *branch) {
	at := br.markOf(func(d *descriptor) *setting[bool] { return &d.share })
	switch s := &br.selector; {
	case s.kind == selectAny:
		b.fail(at, `add value: "*" for one bucket for all values`, "share_threshold needs a pattern, a list, a cidr or a regex")
	case s.kind == selectText && len(s.patterns) == 0 && len(s.exact) < 2:
		b.fail(at, "leave it out", "share_threshold needs a pattern, a list, a cidr or a regex: %s is one value", quoted(s.shown))
	}
}

// enforces tells whether the node has a limit that can deny.
func (br *branch) enforces() bool {
	return br.limited != nil && slices.ContainsFunc(br.limited.limits, func(l *limit) bool { return !l.unlimited.value })
}

// markOf is where a flag of the node is set.
func (br *branch) markOf(of func(*descriptor) *setting[bool]) mark {
	for _, part := range br.parts {
		if s := of(part); s.set && s.value {
			return s.at
		}
	}
	return br.parts[0].at
}

// checkLevel looks at all nodes for one key below one parent, in the order in
// which they are tried, but for patterns.
func (b *builder) checkLevel(nodes []*branch) {
	b.checkSize(nodes)
	b.checkTies(nodes)
	if b.domain.fallback {
		return // what is hidden from a match is found by going on
	}
	b.checkReach(nodes)
	b.checkHidden(nodes)
	b.checkHiddenLimit(nodes)
}

// checkSize bounds what has to be tried one by one.
func (b *builder) checkSize(nodes []*branch) {
	n := 0
	for _, br := range nodes {
		before := n
		if n += len(br.selector.patterns); br.selector.kind == selectRegex {
			n++
		}
		if before <= maxSelective && n > maxSelective {
			b.fail(br.selector.at, "use exact values or cidr, which cost the same however many there are", "more than %d patterns and regexes for key %s at one level", maxSelective, quoted(br.key))
		}
	}
}

// checkTies warns of patterns that only byte order tells apart.
func (b *builder) checkTies(nodes []*branch) {
	var all []pattern
	for _, br := range nodes {
		all = append(all, br.selector.patterns...)
	}
	slices.SortStableFunc(all, func(p, q pattern) int { return compareSpecific(&p, &q) })
	for i := 1; i < len(all); i++ {
		if p, q := &all[i-1], &all[i]; tied(p, q) {
			b.warn(q.at, "", "pattern %s is as specific as %s at %s: where both match, that one wins, by byte order", quoted(q.text), quoted(p.text), b.log.place(p.at))
		}
	}
}

// checkReach warns of nodes behind one that takes every value.
func (b *builder) checkReach(nodes []*branch) {
	var all *branch
	for _, br := range nodes {
		s := &br.selector
		if all != nil && s.kind != selectText {
			b.warn(br.parts[0].at, "", "rule %s can never match: the rule at %s takes every value", describePart(br.parts[0]), b.log.place(all.parts[0].at))
			continue
		}
		if slices.ContainsFunc(s.patterns, func(p pattern) bool { return p.all() }) || s.kind == selectRegex && matchesAll(s.regex.String()) {
			all = br
		}
	}
}

func matchesAll(regex string) bool {
	return slices.Contains([]string{"", ".*", "^", "$", "^.*", ".*$"}, regex)
}

// checkHidden warns of values that match a more specific node, and there find
// less below than the key alone would give them.
func (b *builder) checkHidden(nodes []*branch) {
	last := nodes[len(nodes)-1]
	if last.selector.kind != selectAny || len(last.children) == 0 || len(nodes) == 1 {
		return
	}
	open := make(map[string]bool) // keys below the key alone that take any value there
	for _, child := range last.children {
		open[child.key] = open[child.key] || child.takesAll()
	}
	for _, br := range nodes[:len(nodes)-1] {
		closed := make(map[string]bool)
		for _, child := range br.children {
			if open[child.key] {
				closed[child.key] = closed[child.key] || child.takesAll()
			}
		}
		for _, key := range sortedKeys(closed) {
			if !closed[key] {
				b.warn(br.parts[0].at, "for these, match: fallback at the top of the document tries the next rule", "%s hides the rule for %s at %s: other values of %s find no limit below it",
					describePart(br.parts[0]), "key "+quoted(last.key)+" alone", b.log.place(last.parts[0].at), quoted(key))
			}
		}
	}
}

// checkHiddenLimit warns of values that match a node with rules below it and no
// limit of its own, where the key alone has one. A node with nothing below it is
// a whitelist, and meant.
func (b *builder) checkHiddenLimit(nodes []*branch) {
	last := nodes[len(nodes)-1]
	if last.selector.kind != selectAny || !last.enforces() {
		return
	}
	for _, br := range nodes[:len(nodes)-1] {
		if br.limited == nil && len(br.children) > 0 {
			b.warn(br.parts[0].at, "give it a limit, too, or rate_limit: {unlimited: true} if none is meant", "%s hides the limit of key %s alone at %s: a descriptor that ends here has none",
				describePart(br.parts[0]), quoted(last.key), b.log.place(last.limited.limited))
		}
	}
}

// takesAll tells whether a node takes every value of its key.
func (br *branch) takesAll() bool {
	return br.selector.kind == selectAny || slices.ContainsFunc(br.selector.patterns, func(p pattern) bool { return p.all() })
}
