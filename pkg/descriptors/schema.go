package descriptors

import (
	"slices"
	"strings"

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
	doc      string   // for the reference and for editors
	fallback string   // what it is if left out
	also     []string // what other programs call it
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

// meant finds the field that another program's word stands for, or "".
func (l *level[T]) meant(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	for i := range l.rows {
		if slices.Contains(l.rows[i].also, word) {
			return l.rows[i].name
		}
	}
	return ""
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
			row[replace]{field{name: "name", doc: "The `name` of a limit: it is dropped from the calls that this one is in.", required: true},
				func(d *decoder, r *replace, n *yaml.Node, _ *field) { r.name = d.text(n) }},
		),
	}
	s.document.open = true
	return s
}

func documentLevel() *level[document] {
	return newLevel(levelDocument,
		row[document]{field{name: "domain", doc: "The domain that Envoy's rate limit filter names.", required: true},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) { doc.domain = d.name(n) }},
		row[document]{field{name: "match", kind: kindEnum, enum: []string{"fallback"}, doc: "`fallback` tries the next candidate where a branch leads nowhere.", fallback: "the first is final"},
			func(d *decoder, doc *document, n *yaml.Node, f *field) {
				doc.fallback = enum(d, n, f, func(name string) (bool, bool) { return true, name == "fallback" })
			}},
		row[document]{field{name: "defaults", kind: kindLevel, level: levelDefaults, doc: "For limits of this document that say nothing."},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) {
				doc.defaults = &defaults{at: d.mark(n)}
				decodeMap(d, n, d.schema.defaults, doc.defaults)
			}},
		row[document]{field{name: "descriptors", kind: kindList, level: levelDescriptor, also: []string{"rules", "limits", "rate_limits"}, doc: "The rules for the first entry of a request's descriptor; `[]` says that there are none."},
			func(d *decoder, doc *document, n *yaml.Node, _ *field) {
				doc.listed = true
				doc.descriptors = d.descriptors(n)
			}},
	)
}

// maxBurstPercent is a burst of a hundred times the amount.
const maxBurstPercent = 10_000

func defaultsLevel() *level[defaults] {
	return newLevel(levelDefaults,
		row[defaults]{field{name: "algorithm", kind: kindEnum, enum: algorithmNames(), doc: "Of limits that name none.", fallback: "DEFAULT_ALGORITHM"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.algorithm = enum(d, n, f, buckets.ParseAlgorithm)
			}},
		row[defaults]{field{name: "on_store_error", kind: kindEnum, enum: storePolicyNames[:], doc: "Of limits that name none.", fallback: "ON_STORE_ERROR"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.onStoreError = enum(d, n, f, ParseStorePolicy)
			}},
		row[defaults]{field{name: "denied_hits", kind: kindEnum, enum: deniedHitsNames[:], doc: "Of limits that name none.", fallback: "auto"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) {
				to.deniedHits = enum(d, n, f, ParseDeniedHits)
			}},
		row[defaults]{field{name: "burst_percent", kind: kindInteger, least: 1, most: maxBurstPercent, also: []string{"burst"}, doc: "Burst of limits that name none and whose algorithm has one, in percent of their amount, rounded up.", fallback: "the amount; 1 for `leaky_bucket`"},
			func(d *decoder, to *defaults, n *yaml.Node, f *field) { to.burstPercent = d.integer(n, f) }},
	)
}
