package descriptors

import (
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"gopkg.in/yaml.v3"
)

// kind says what a field holds.
type kind uint8

const (
	kindText kind = iota
	kindPattern
	kindInteger
	kindBool
	kindEnum
	kindDuration
	kindRegex
	kindTexts // a list of texts
	kindCIDRs // one text, or a list
	kindMap   // any map
	kindLevel // a map with the fields of another level
	kindList  // a list of such maps
)

// field is what the rule language says about one field. The tables below are
// the only list of fields: decoding, hints for misspelt and misplaced ones, and
// whatever is generated from the language, read them.
type field struct {
	name     string
	kind     kind
	doc      string
	required bool
	enum     []string // of kindEnum
	level    string   // of kindLevel and kindList
	least    uint64   // of kindInteger
	most     uint64
}

// row is a field of a level and how it is decoded into a T.
type row[T any] struct {
	field
	decode func(d *decoder, into *T, n *yaml.Node, f *field)
}

// level is the fields that a map of one kind may have.
type level[T any] struct {
	name  string
	open  bool // x-anything is ignored
	rows  []row[T]
	names []string
}

func newLevel[T any](name string, rows ...row[T]) *level[T] {
	l := &level[T]{name: name, rows: rows}
	for i := range rows {
		l.names = append(l.names, rows[i].name)
	}
	return l
}

func (l *level[T]) row(name string) *row[T] {
	for i := range l.rows {
		if l.rows[i].name == name {
			return &l.rows[i]
		}
	}
	return nil
}

// schema is all levels.
type schema struct {
	document   *level[document]
	defaults   *level[defaults]
	descriptor *level[descriptor]
	limit      *level[limit]
	replace    *level[replace]
}

// replace is an item of replaces.
type replace struct{ name setting[string] }

// Names of levels, as they are shown.
const (
	levelDocument   = "document"
	levelDefaults   = "defaults"
	levelDescriptor = "descriptor"
	levelLimit      = "rate_limit"
	levelReplace    = "replaces"
)

var (
	unitNames  = []string{"second", "minute", "hour", "day", "week", "month", "year"}
	alignNames = []string{"epoch", "first_hit", "calendar"}
)

func algorithmNames() []string {
	var names []string
	for _, a := range buckets.Algorithms() {
		names = append(names, a.String())
	}
	return names
}

func newSchema() *schema {
	s := &schema{
		document:   documentLevel(),
		defaults:   defaultsLevel(),
		descriptor: descriptorLevel(),
		limit:      limitLevel(),
		replace: newLevel(levelReplace,
			row[replace]{field{name: "name", doc: "name of the limit to drop", required: true},
				func(d *decoder, r *replace, n *yaml.Node, _ *field) { r.name = d.text(n) }},
		),
	}
	s.document.open = true
	return s
}

func documentLevel() *level[document] {
	return newLevel(levelDocument,
		row[document]{field{name: "domain", doc: "the domain that Envoy's filter names", required: true},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) { doc.domain = d.name(n) }},
		row[document]{field{name: "match", kind: kindEnum, enum: []string{"fallback"}, doc: "fallback: try the next candidate where a branch leads nowhere"},
			func(d *decoder, doc *document, n *yaml.Node, f *field) {
				doc.fallback = enum(d, n, f, func(name string) (bool, bool) { return true, name == "fallback" })
			}},
		row[document]{field{name: "defaults", kind: kindLevel, level: levelDefaults, doc: "for every limit of this document"},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) {
				doc.defaults = &defaults{at: d.mark(n)}
				decodeMap(d, n, d.schema.defaults, doc.defaults)
			}},
		row[document]{field{name: "descriptors", kind: kindList, level: levelDescriptor, doc: "the rules for the first entry of a request's descriptor"},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) {
				doc.listed = true
				doc.descriptors = d.descriptors(n)
			}},
	)
}

func defaultsLevel() *level[defaults] {
	return newLevel(levelDefaults,
		row[defaults]{field{name: "algorithm", kind: kindEnum, enum: algorithmNames(), doc: "of limits that name none"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.algorithm = enum(d, n, f, buckets.ParseAlgorithm)
			}},
		row[defaults]{field{name: "on_store_error", kind: kindEnum, enum: storePolicyNames[:], doc: "of limits that name none"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.onStoreError = enum(d, n, f, ParseStorePolicy)
			}},
		row[defaults]{field{name: "denied_hits", kind: kindEnum, enum: deniedHitsNames[:], doc: "of limits that name none"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.deniedHits = enum(d, n, f, ParseDeniedHits)
			}},
	)
}
