package descriptors

import (
	"math"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"gopkg.in/yaml.v3"
)

func limitLevel() *level[limit] {
	return newLevel(levelLimit,
		row[limit]{field{name: "unit", kind: kindEnum, enum: unitNames, also: []string{"period", "per", "window", "interval"}, doc: "The window, in any case of letters; a month is 30 days, a year 365, but in calendar windows.", fallback: "required"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) {
				to.unit = enum(d, n, f, func(name string) (Unit, bool) { return ParseUnit(strings.ToLower(name)) })
			}},
		row[limit]{field{name: "requests_per_unit", kind: kindInteger, most: math.MaxUint32, also: []string{"requests", "rate", "limit", "amount", "max", "count", "tokens_per_fill"}, doc: "The amount of a window; 0 denies all.", fallback: "required"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.amount = d.integer(n, f) }},
		row[limit]{field{name: "unit_multiplier", kind: kindInteger, least: 1, most: math.MaxUint32, also: []string{"multiplier"}, doc: "A window of so many units, at most 10 years.", fallback: "1"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.multiplier = d.integer(n, f) }},
		row[limit]{field{name: "algorithm", kind: kindEnum, enum: algorithmNames(), doc: "How hits are counted.", fallback: "that of `defaults`, else DEFAULT_ALGORITHM"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) {
				to.algorithm = enum(d, n, f, buckets.ParseAlgorithm)
			}},
		row[limit]{field{name: "burst", kind: kindInteger, least: 1, most: math.MaxUint32, also: []string{"max_tokens", "capacity", "burst_size"}, doc: "How much fits at once: `token_bucket`, `leaky_bucket` and `gcra`.", fallback: "the amount; 1 for `leaky_bucket`"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.burst = d.integer(n, f) }},
		row[limit]{field{name: "refill_interval", kind: kindDuration, also: []string{"fill_interval"}, doc: "`token_bucket`: add tokens in whole steps so far apart, such as `1s`.", fallback: "continuously"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.refill = d.duration(n) }},
		row[limit]{field{name: "align", kind: kindEnum, enum: alignNames, doc: "`fixed_window`: windows begin at multiples since 1970, at the `first_hit`, or with the `calendar`.", fallback: "epoch"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.align = enum(d, n, f, parseAlign) }},
		row[limit]{field{name: "time_zone", also: []string{"timezone", "tz"}, doc: "Of calendar windows, such as `Europe/Berlin`.", fallback: "UTC"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.zone = d.name(n) }},
		row[limit]{field{name: "denied_hits", kind: kindEnum, enum: deniedHitsNames[:], doc: "Whether a denied call is charged: `free`, `charged`; `auto` charges if the descriptor states a cost.", fallback: "that of `defaults`, else auto"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.deniedHits = enum(d, n, f, ParseDeniedHits) }},
		row[limit]{field{name: "on_store_error", kind: kindEnum, enum: storePolicyNames[:], doc: "The answer when the store cannot decide: see [rules by example](../guides/rules.md#when-the-store-fails).", fallback: "that of `defaults`, else ON_STORE_ERROR"},
			func(d *decoder, to *limit, n *yaml.Node, f *field) { to.onStoreError = enum(d, n, f, ParseStorePolicy) }},
		row[limit]{field{name: "name", doc: "Shown in headers and metrics, and what `replaces` names.", fallback: "none"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.name = d.name(n) }},
		row[limit]{field{name: "replaces", kind: kindList, level: levelReplace, doc: "Limits of the same call that this one takes the place of.", fallback: "none"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.replaces = d.replaces(n) }},
		row[limit]{field{name: "unlimited", kind: kindBool, doc: "No limit; only `name` and `replaces` may stand beside it.", fallback: "false"},
			func(d *decoder, to *limit, n *yaml.Node, _ *field) { to.unlimited = d.boolean(n) }},
	)
}

func parseAlign(name string) (buckets.Align, bool) {
	return parseName[buckets.Align](alignNames, name)
}
