package descriptors

import (
	"math"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"gopkg.in/yaml.v3"
)

func limitLevel() *level[limit] {
	return newLevel(levelLimit,
		row[limit]{field{name: "unit", kind: kindEnum, enum: unitNames, doc: "of the window, in any case"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) {
				to.unit = enum(d, n, f, func(name string) (Unit, bool) { return ParseUnit(strings.ToLower(name)) })
			}},
		row[limit]{field{name: "requests_per_unit", kind: kindInteger, most: math.MaxUint32, doc: "hits a window; 0 = always over"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.amount = d.integer(n, f) }},
		row[limit]{field{name: "unit_multiplier", kind: kindInteger, least: 1, most: math.MaxUint32, doc: "the window is this many units"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.multiplier = d.integer(n, f) }},
		row[limit]{field{name: "algorithm", kind: kindEnum, enum: algorithmNames(), doc: "how hits are counted"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) {
				to.algorithm = enum(d, n, f, buckets.ParseAlgorithm)
			}},
		row[limit]{field{name: "burst", kind: kindInteger, least: 1, most: math.MaxUint32, doc: "capacity of token_bucket, leaky_bucket and gcra"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.burst = d.integer(n, f) }},
		row[limit]{field{name: "refill_interval", kind: kindDuration, doc: "token_bucket: add tokens in whole steps this far apart"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.refill = d.duration(n) }},
		row[limit]{field{name: "align", kind: kindEnum, enum: alignNames, doc: "fixed_window: where windows begin"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.align = enum(d, n, f, parseAlign) }},
		row[limit]{field{name: "time_zone", doc: "of calendar windows, such as Europe/Berlin"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.zone = d.name(n) }},
		row[limit]{field{name: "denied_hits", kind: kindEnum, enum: deniedHitsNames[:], doc: "whether the cost of a denied call is recorded"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.deniedHits = enum(d, n, f, ParseDeniedHits) }},
		row[limit]{field{name: "on_store_error", kind: kindEnum, enum: storePolicyNames[:], doc: "the answer when the store cannot decide"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.onStoreError = enum(d, n, f, ParseStorePolicy) }},
		row[limit]{field{name: "name", doc: "shown in answers, headers and metrics; what replaces means"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.name = d.name(n) }},
		row[limit]{field{name: "replaces", kind: kindList, level: levelReplace, doc: "limits that this one takes the place of"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.replaces = d.replaces(n) }},
		row[limit]{field{name: "unlimited", kind: kindBool, doc: "let everything pass, at no cost"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.unlimited = d.boolean(n) }},
	)
}

func parseAlign(name string) (buckets.Align, bool) {
	return parseName[buckets.Align](alignNames, name)
}
