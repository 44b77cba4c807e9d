package descriptors

import "gopkg.in/yaml.v3"

func flagRow(name, doc string, of func(*descriptor) *setting[bool]) row[descriptor] {
	return row[descriptor]{field{name: name, kind: kindBool, doc: doc},
		func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { *of(to) = d.boolean(n) }}
}

func descriptorLevel() *level[descriptor] {
	return newLevel(levelDescriptor,
		row[descriptor]{field{name: "key", doc: "the entry's key, never a pattern", required: true},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.key = d.name(n) }},
		row[descriptor]{field{name: "value", kind: kindPattern, doc: `the entry's value: exact, or a pattern in which * stands for any run of characters (\* for a star)`},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.value(to, n) }},
		row[descriptor]{field{name: "values", kind: kindTexts, doc: "any of these, each its own bucket"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.values(to, n) }},
		row[descriptor]{field{name: "cidr", kind: kindCIDRs, doc: "the entry's value is an IP address in one of these networks"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.cidr(to, n) }},
		row[descriptor]{field{name: "regex", kind: kindRegex, doc: "RE2 that the entry's value matches, anchored as written"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.regex(to, n) }},
		row[descriptor]{field{name: "rate_limit", kind: kindLevel, level: levelLimit, doc: "the limit for descriptors that end here"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.rateLimit(to, n) }},
		row[descriptor]{field{name: "rate_limits", kind: kindList, level: levelLimit, doc: "several limits, all of which must pass"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { d.rateLimits(to, n) }},
		row[descriptor]{field{name: "descriptors", kind: kindList, level: levelDescriptor, doc: "the rules for the next entry"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.children = d.descriptors(n) }},
		flagRow("shadow_mode", "decide and count, never deny", func(to *descriptor) *setting[bool] { return &to.shadow }),
		flagRow("quota_mode", "deny only if every quota limit of the call is over", func(to *descriptor) *setting[bool] { return &to.quota }),
		flagRow("share_threshold", "one bucket for all values that match", func(to *descriptor) *setting[bool] { return &to.share }),
		flagRow("detailed_metric", "count by the values of the request", func(to *descriptor) *setting[bool] { return &to.detailed }),
		flagRow("value_to_metric", "count by the value of this entry", func(to *descriptor) *setting[bool] { return &to.valueToMetric }),
		flagRow("sensitive", "the value is a secret: only a keyed hash of it is kept and shown", func(to *descriptor) *setting[bool] { return &to.sensitive }),
		row[descriptor]{field{name: "metadata", kind: kindMap, doc: "goes into the answer's dynamic metadata"},
			func(d *decoder, to *descriptor, n *yaml.Node, _ *field) { to.metadata = d.metadata(n) }},
	)
}
