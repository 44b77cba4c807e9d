package descriptors

import "gopkg.in/yaml.v3"

func flagRow(name, doc string, of func(*descriptor) *setting[bool]) row[descriptor] {
	return row[descriptor]{field{name: name, kind: kindBool, doc: doc, fallback: "false"},
		func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { *of(to) = d.boolean(n) }}
}

func descriptorLevel() *level[descriptor] {
	return newLevel(levelDescriptor,
		row[descriptor]{field{name: "key", doc: "The entry's key; never a pattern.", required: true},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.key = d.name(n) }},
		row[descriptor]{field{name: "value", kind: kindPattern, fallback: "any value", also: []string{"pattern", "match", "prefix"}, doc: "The exact value, or a pattern: `*` is any run of characters, `\\*` a star."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.value(to, n) }},
		row[descriptor]{field{name: "values", kind: kindTexts, doc: "A list of values and patterns, instead of `value`; a bucket for each."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.values(to, n) }},
		row[descriptor]{field{name: "cidr", kind: kindCIDRs, also: []string{"cidrs", "network", "subnet"}, doc: "A network, or a list, instead of `value`: the value is an IP address."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.cidr(to, n) }},
		row[descriptor]{field{name: "regex", kind: kindRegex, also: []string{"regexp", "value_regex"}, doc: "An RE2 expression, instead of `value`; anchored as written."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.regex(to, n) }},
		row[descriptor]{field{name: "rate_limit", kind: kindLevel, level: levelLimit, also: []string{"limit", "ratelimit"}, doc: "The limit for descriptors that end here.", fallback: "none; without `descriptors`, what matches passes"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.rateLimit(to, n) }},
		row[descriptor]{field{name: "rate_limits", kind: kindList, level: levelLimit, also: []string{"limits"}, doc: "A list of limits instead, all of which must have room."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.rateLimits(to, n) }},
		row[descriptor]{field{name: "descriptors", kind: kindList, level: levelDescriptor, also: []string{"rules", "children"}, doc: "The rules for the next entry."},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.children = d.descriptors(n) }},
		flagRow("shadow_mode", "Decide and count, never deny.", func(to *descriptor) *setting[bool] { return &to.shadow }),
		flagRow("quota_mode", "A quota limit: a call is denied if all its quota limits deny.", func(to *descriptor) *setting[bool] { return &to.quota }),
		flagRow("share_threshold", "One bucket for all values that match.", func(to *descriptor) *setting[bool] { return &to.share }),
		flagRow("detailed_metric", "The request's values become a label of metrics, up to a cap.", func(to *descriptor) *setting[bool] { return &to.detailed }),
		flagRow("value_to_metric", "This entry's value becomes a label of metrics, up to a cap.", func(to *descriptor) *setting[bool] { return &to.valueToMetric }),
		flagRow("sensitive", "The value is a secret: only a keyed hash of it reaches keys and logs.", func(to *descriptor) *setting[bool] { return &to.sensitive }),
		row[descriptor]{field{name: "metadata", kind: kindMap, doc: "A map that goes into the dynamic metadata of answers.", fallback: "none"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.metadata = d.metadata(n) }},
	)
}
