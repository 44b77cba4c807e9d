package descriptors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// branch is a node of the merged tree: what all documents of a domain say about
// one key and selector below one parent.
type branch struct {
	key      string
	selector selector
	parts    []*descriptor // in the order of files
	children []*branch     // sorted: by key, then as they are tried
	limited  *descriptor   // the part with the limits; nil if there are none
	metadata map[string]any

	shadow, quota, share, detailed, valueToMetric, sensitive bool
}

// branchID tells the nodes below one parent apart.
type branchID struct {
	key  string
	kind selectorKind
	text string
	sign byte // = for an exact text, * for a pattern, where they are told apart
}

// siblings are the descriptors of one written list.
type siblings []*descriptor

// merger makes one tree of the documents of a domain.
type merger struct {
	unit *unit
	log  *report
}

func merge(u *unit, log *report) *branch {
	m := &merger{u, log}
	var lists []siblings
	for _, doc := range u.documents {
		lists = append(lists, doc.descriptors)
	}
	root := &branch{}
	m.children(root, lists)
	m.match()
	return root
}

func (m *merger) fail(at mark, hint, format string, args ...any) {
	m.log.error(at, m.unit.name, fmt.Sprintf(format, args...), hint)
}

func (m *merger) warn(at mark, hint, format string, args ...any) {
	m.log.warn(at, m.unit.name, fmt.Sprintf(format, args...), hint)
}

// match holds all documents with rules to one way of matching.
func (m *merger) match() {
	var first *document
	for _, doc := range m.unit.documents {
		switch {
		case !doc.listed && !doc.fallback.written():
		case first == nil:
			first = doc
		case first.fallback.set != doc.fallback.set:
			at, how := doc.fallback.at, "this document says match: fallback, the one at %s does not"
			if !doc.fallback.written() {
				at, how = doc.at, "this document does not say match: fallback, the one at %s does"
			}
			m.fail(at, "say the same in all documents of the domain", how, m.log.place(first.at))
			return
		}
	}
}

// merging is what is known of the nodes below one parent while they are merged.
type merging struct {
	*merger
	parent *branch
	nodes  map[branchID]*branch
	owners map[branchID]*branch   // of each text and network that a selector lists
	lists  map[*branch]int        // the list that last had a part of a node
	first  map[string]*descriptor // the first regex of each key
	from   map[*descriptor]int    // and the list it is in
}

// children merges lists of descriptors below one parent.
func (m *merger) children(parent *branch, lists []siblings) {
	size := 0
	for _, list := range lists {
		size += len(list)
	}
	if size == 0 {
		return
	}
	l := &merging{
		merger: m,
		parent: parent,
		nodes:  make(map[branchID]*branch, size),
		owners: make(map[branchID]*branch),
		lists:  make(map[*branch]int),
		first:  make(map[string]*descriptor),
		from:   make(map[*descriptor]int),
	}
	for number, list := range lists {
		for _, part := range list {
			l.add(part, number)
		}
	}
	for _, b := range parent.children {
		m.settle(b)
	}
	slices.SortStableFunc(parent.children, compareBranches)
}

// add files a descriptor, which stands in a numbered list, under its node.
func (l *merging) add(part *descriptor, list int) {
	id := branchID{key: part.key.value, kind: part.selector.kind, text: part.selector.text}
	b := l.nodes[id]
	if b == nil {
		b = &branch{key: part.key.value, selector: part.selector}
		l.nodes[id] = b
		l.parent.children = append(l.parent.children, b)
		l.own(b)
	} else if before := b.parts[len(b.parts)-1]; l.lists[b] == list && (len(part.limits) == 0 || len(before.limits) == 0) {
		l.warn(part.at, "write it once", "%s is written twice in one list: first at %s", describePart(part), l.log.line(before.at))
	}
	b.parts = append(b.parts, part)
	l.lists[b] = list
	if part.selector.kind == selectRegex {
		l.order(part, list)
	}
}

// order holds all regexes for a key to one list: only that says their order.
func (l *merging) order(part *descriptor, list int) {
	first := l.first[part.key.value]
	switch {
	case first == nil:
		l.first[part.key.value], l.from[part] = part, list
	case l.from[first] != list:
		l.fail(part.selector.at, "put all regexes of a key into one list: the first that matches wins",
			"regexes for key %s in two lists: the order between this one and %s is unknown", quoted(part.key.value), l.log.place(first.selector.at))
	}
}

// own holds selectors that list texts or networks to having none in common.
func (l *merging) own(b *branch) {
	claim := func(sign byte, text string) {
		id := branchID{b.key, b.selector.kind, text, sign}
		if other := l.owners[id]; other != nil && other != b {
			l.fail(b.selector.at, "write it in one of the two", "%s of key %s has a rule already, at %s", quoted(text), quoted(b.key), l.log.place(other.parts[0].at))
			return
		}
		l.owners[id] = b
	}
	for _, value := range b.selector.exact {
		claim('=', value)
	}
	for i := range b.selector.patterns {
		claim('*', b.selector.patterns[i].text)
	}
	for _, prefix := range b.selector.prefixes {
		claim('=', prefix.String())
	}
}

// settle joins the parts of a branch, and goes on to its children.
func (m *merger) settle(b *branch) {
	for _, f := range entryFlags {
		f.join(m, b, func(*descriptor) bool { return true })
	}
	for _, f := range limitFlags {
		f.join(m, b, func(part *descriptor) bool { return len(part.limits) > 0 })
	}
	var metadata *descriptor
	lists := make([]siblings, 0, len(b.parts))
	for _, part := range b.parts {
		lists = append(lists, part.children)
		if len(part.limits) > 0 {
			if b.limited != nil {
				m.fail(part.limited, "for several limits write rate_limits in one place", "%s has a limit already, at %s", describePart(part), m.log.place(b.limited.limited))
			} else {
				b.limited = part
			}
		}
		if part.metadata.set {
			if metadata != nil {
				m.fail(part.metadata.at, "write it in one place", "%s has metadata already, at %s", describePart(part), m.log.place(metadata.metadata.at))
			} else {
				metadata, b.metadata = part, part.metadata.value
			}
		}
	}
	m.children(b, lists)
}

// branchFlag is a flag of a node.
type branchFlag struct {
	name string
	of   func(*descriptor) *setting[bool]
	to   func(*branch) *bool
}

// entryFlags say something about the entry: every part of a node has a say.
var entryFlags = []branchFlag{
	{"share_threshold", func(d *descriptor) *setting[bool] { return &d.share }, func(b *branch) *bool { return &b.share }},
	{"value_to_metric", func(d *descriptor) *setting[bool] { return &d.valueToMetric }, func(b *branch) *bool { return &b.valueToMetric }},
	{"sensitive", func(d *descriptor) *setting[bool] { return &d.sensitive }, func(b *branch) *bool { return &b.sensitive }},
}

// limitFlags say something about the limits: parts with limits or with the flag
// have a say.
var limitFlags = []branchFlag{
	{"shadow_mode", func(d *descriptor) *setting[bool] { return &d.shadow }, func(b *branch) *bool { return &b.shadow }},
	{"quota_mode", func(d *descriptor) *setting[bool] { return &d.quota }, func(b *branch) *bool { return &b.quota }},
	{"detailed_metric", func(d *descriptor) *setting[bool] { return &d.detailed }, func(b *branch) *bool { return &b.detailed }},
}

// join sets the flag, and holds the parts that have a say to the same value.
func (f *branchFlag) join(m *merger, b *branch, hasSay func(*descriptor) bool) {
	var first *descriptor
	for _, part := range b.parts {
		s := f.of(part)
		if !s.written() && !hasSay(part) {
			continue
		}
		if first == nil {
			first = part
			*f.to(b) = s.value
			continue
		}
		if *f.to(b) == s.value {
			continue
		}
		at := s.at
		if !s.written() {
			at = part.at
		}
		m.fail(at, "write the same in both places", "%s: %s is %t here, and %t at %s", describePart(part), f.name, s.value, !s.value, m.log.place(first.at))
	}
}

// describePart names a node as it is written.
func describePart(d *descriptor) string {
	if d.selector.kind == selectAny {
		return "key " + quoted(d.key.value)
	}
	return "key " + quoted(d.key.value) + " with " + selectorWords[d.selector.kind] + " " + quoted(d.selector.shown)
}

var selectorWords = [...]string{"", "value", "cidr", "regex"}

// compareBranches sorts the nodes of a level: by key, then in an order that
// files have no part in. Regexes keep theirs.
func compareBranches(a, b *branch) int {
	if c := cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.selector.kind.rank(), b.selector.kind.rank())); c != 0 {
		return c
	}
	if a.selector.kind == selectRegex {
		return 0
	}
	return strings.Compare(a.selector.text, b.selector.text)
}

// rank is the order in which kinds of selectors are tried.
func (k selectorKind) rank() int {
	return [...]int{selectAny: 3, selectText: 0, selectCIDR: 1, selectRegex: 2}[k]
}
