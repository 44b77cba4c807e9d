package descriptors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// builder makes the tree of a domain that requests walk.
type builder struct {
	domain  *Domain
	opt     Options
	log     *report
	names   []limitName
	targets []replaceTarget
	idle    []besides
	noted   map[*document]bool // those with a note on their algorithm
}

// limitName is a limit that has a name.
type limitName struct {
	name string
	at   mark
}

// replaceTarget is an item of replaces: to is to be dropped for from, whose name
// may be "".
type replaceTarget struct {
	to, from string
	at       mark
}

func (b *builder) fail(at mark, hint, format string, args ...any) {
	b.log.error(at, b.domain.Name, fmt.Sprintf(format, args...), hint)
}

func (b *builder) warn(at mark, hint, format string, args ...any) {
	b.log.warn(at, b.domain.Name, fmt.Sprintf(format, args...), hint)
}

// build compiles a merged tree into a domain.
func build(u *unit, tree *branch, opt Options, log *report) *Domain {
	b := &builder{domain: &Domain{Name: u.name}, opt: opt, log: log}
	for _, doc := range u.documents {
		b.domain.fallback = b.domain.fallback || doc.fallback.value
	}
	b.domain.defaults = b.domainDefaults(u)
	b.domain.root = &node{}
	b.children(b.domain.root, tree, above{path: u.name, values: 1})
	b.checkNames(u)
	b.reportIdle()
	return b.domain
}

// domainDefaults are those of documents without descriptors: they are for the
// rules that another source has for the domain, and for overrides.
func (b *builder) domainDefaults(u *unit) Options {
	opt := b.opt
	var first *defaults
	for _, doc := range u.documents {
		switch d := doc.defaults; {
		case d == nil || doc.listed:
		case first != nil && (first.algorithm.value != d.algorithm.value || first.onStoreError != d.onStoreError || first.deniedHits != d.deniedHits || first.burstPercent.value != d.burstPercent.value):
			b.fail(d.at, "write them in one place", "domain %s has other defaults already, at %s", quoted(u.name), b.log.place(first.at))
		default:
			first = d
			opt.Algorithm = d.algorithm.or(opt.algorithm())
			opt.OnStoreError = d.onStoreError.or(opt.OnStoreError)
			opt.DeniedHits = d.deniedHits.or(opt.DeniedHits)
			opt.BurstPercent = d.burstPercent.or(opt.BurstPercent)
		}
	}
	return opt
}

// above is what the nodes from the root down say about their entries.
type above struct {
	path    string
	entries *entryList
	marks   []buckets.Mark
	marked  bool
	metrics []bool
	metric  bool
	values  uint64 // how many buckets the entries make; 0 = up to traffic
}

// entryList is a list of entries from the last to the first: nodes share what is
// above them.
type entryList struct {
	above *entryList
	entry Entry
}

func (l *entryList) slice() []Entry {
	var all []Entry
	for ; l != nil; l = l.above {
		all = append(all, l.entry)
	}
	slices.Reverse(all)
	return all
}

// with goes one node further down.
func (a above) with(br *branch, shown string) above {
	m := buckets.Mark{}
	switch {
	case br.share:
		m = buckets.Mark{Kind: buckets.Shared, Text: sharedText(br.selector.text)}
	case br.sensitive:
		m.Kind = buckets.Sensitive
	}
	return above{
		path:    a.path + "/" + shorten(br.key) + shown,
		entries: &entryList{a.entries, Entry{Key: shorten(br.key), Value: strings.TrimPrefix(shown, "=")}},
		marks:   append(slices.Clip(a.marks), m),
		marked:  a.marked || m.Kind != buckets.Plain,
		metrics: append(slices.Clip(a.metrics), br.valueToMetric),
		metric:  a.metric || br.valueToMetric,
		values:  a.values * br.values(),
	}
}

// values is how many buckets a node makes: 0 where that is up to traffic. A
// file is too small for a product of these to leave 64 bits.
func (br *branch) values() uint64 {
	switch s := &br.selector; {
	case br.share:
		return 1
	case s.kind == selectText && len(s.patterns) == 0:
		return uint64(len(s.exact))
	}
	return 0
}

// sharedText names the bucket of all values of a selector; a long text by its
// hash, since it goes into every key.
func sharedText(text string) string {
	if len(text) <= maxShared {
		return text
	}
	h := sha256.New()
	hashText(h, text)
	return hashedText(h.Sum(nil))
}

// maxShared is the longest text that names a bucket by itself.
const maxShared = 128

func hashedText(sum []byte) string { return `\#` + hex.EncodeToString(sum[:16]) }

// children compiles what is below a node. Branches come sorted.
func (b *builder) children(n *node, tree *branch, a above) {
	if len(tree.children) > 0 {
		n.keys = make(map[string]*choices)
	}
	for from, to := 0, 0; from < len(tree.children); from = to {
		key := tree.children[from].key
		for to < len(tree.children) && tree.children[to].key == key {
			to++
		}
		b.checkLevel(tree.children[from:to])
	}
	secrets := 0
	for _, br := range tree.children {
		b.checkBranch(br)
		shown := ""
		if br.selector.kind != selectAny {
			shown = "=" + br.selector.shown
			if br.sensitive && len(br.selector.exact) > 0 {
				secrets++
				shown = "=#" + strconv.Itoa(secrets)
			}
		}
		down := a.with(br, shown)
		child := &node{rule: b.rule(br, down), many: len(br.selector.patterns)+len(br.selector.prefixes) > 1}
		level := n.keys[br.key]
		if level == nil {
			level = &choices{}
			n.keys[br.key] = level
		}
		level.add(br, child)
		n.children = append(n.children, child)
		b.children(child, br, down)
	}
	for _, level := range n.keys {
		level.sort()
	}
}

func (b *builder) rule(br *branch, a above) *Rule {
	first := br.parts[0]
	if br.limited != nil {
		first = br.limited
	}
	r := &Rule{
		Path:           a.path,
		Domain:         b.domain.Name,
		Place:          b.log.place(first.at),
		Shadow:         br.shadow,
		Quota:          br.quota,
		DetailedMetric: br.detailed,
		Metadata:       br.metadata,
		Buckets:        a.values,
	}
	if a.marked {
		r.Marks = a.marks
	}
	if a.metric {
		r.ValueToMetric = a.metrics
	}
	if r.Limits = b.limits(br); len(r.Limits) > 0 {
		r.Entries = a.entries.slice()
	}
	for _, l := range r.Limits {
		l.Rule = r
	}
	return r
}

// add files a node under its selector.
func (c *choices) add(br *branch, n *node) {
	switch br.selector.kind {
	case selectAny:
		c.any = n
	case selectRegex:
		c.regexes = append(c.regexes, regexNode{br.selector.regex, n})
	case selectCIDR:
		if c.networks == nil {
			c.networks = &networks{nodes: make(map[netip.Prefix]*node)}
		}
		for _, prefix := range br.selector.prefixes {
			c.networks.add(prefix, n)
		}
	case selectText:
		if c.exact == nil && len(br.selector.exact) > 0 {
			c.exact = make(map[string]*node)
		}
		for _, value := range br.selector.exact {
			c.exact[value] = n
		}
		for _, p := range br.selector.patterns {
			c.patterns = append(c.patterns, patternNode{p, n})
		}
	}
}

func (c *choices) sort() {
	slices.SortStableFunc(c.patterns, func(a, b patternNode) int { return compareSpecific(&a.pattern, &b.pattern) })
}

// label gives each limit of a rule the name it has in metrics.
func label(r *Rule, i int) string {
	l := r.Limits[i]
	if l.Name != "" {
		return l.Name
	}
	if i == 0 {
		return r.Path
	}
	return r.Path + "#" + strconv.Itoa(i+1)
}
