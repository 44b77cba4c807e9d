package descriptors

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// descriptors decodes a list of rules.
func (d *decoder) descriptors(n *yaml.Node) []*descriptor {
	if isNull(target(n)) {
		at := d.mark(n)
		if d.half == nil {
			d.half = &at
		}
		d.warn(n, "write [] if no rules is what you mean", "descriptors has nothing under it")
		return nil
	}
	if d.levels >= maxLevels {
		d.fail(n, "", "descriptors more than %d levels deep", maxLevels)
		return nil
	}
	d.levels++
	defer func() { d.levels-- }()
	var all []*descriptor
	items := d.list(n, func(item *yaml.Node) {
		if d.used.rules++; d.used.rules > maxRules {
			if d.used.rules == maxRules+1 {
				d.fail(item, "", "more than %d rules", maxRules)
			}
			d.used.spent = true
			return
		}
		to := &descriptor{at: d.mark(item), document: d.document}
		decodeMap(d, item, d.schema.descriptor, to)
		if to.key.set && (!to.selects || to.selector.at.src != 0) {
			all = append(all, to)
		}
	})
	if items == 0 && d.levels > 1 {
		d.warn(n, "leave it out", "an empty list of descriptors has no effect here")
	}
	return all
}

// selects sets the selector of a descriptor, once.
func (d *decoder) selects(to *descriptor, n *yaml.Node, s selector) {
	s.at = d.mark(n)
	if to.selector.at.src != 0 {
		d.fail(n, "keep one of value, values, cidr and regex", "%s goes with no other way to pick values", d.field())
		return
	}
	if d.used.patterns += len(s.patterns); d.used.patterns > maxAllPatterns && d.used.patterns-len(s.patterns) <= maxAllPatterns {
		d.fail(n, "", "more than %d patterns", maxAllPatterns)
	}
	to.selector = s
}

func (d *decoder) value(to *descriptor, n *yaml.Node) {
	to.selects = true
	text := d.text(n)
	if !text.set {
		return
	}
	if text.value == "" {
		d.warn(n, "leave it out, or write regex: '^$' for the empty value only", "an empty value stands for any value")
		d.selects(to, n, selector{})
		return
	}
	d.selects(to, n, textSelector([]setting[string]{text}))
}

func (d *decoder) values(to *descriptor, n *yaml.Node) {
	to.selects = true
	var texts []setting[string]
	seen := make(map[string]int)
	items := d.list(n, func(item *yaml.Node) {
		text := d.text(item)
		if !text.set {
			return
		}
		if first, again := seen[text.value]; again {
			d.warn(item, "leave it out", "%s is in this list already, at line %d", quoted(text.value), first)
			return
		}
		seen[text.value] = item.Line
		texts = append(texts, text)
	})
	switch {
	case len(texts) > 0:
		d.selects(to, n, textSelector(texts))
	case items == 0:
		d.fail(n, "", "values is empty, so that the rule could never match")
	}
}

func (d *decoder) cidr(to *descriptor, n *yaml.Node) {
	to.selects = true
	var prefixes []netip.Prefix
	seen := make(map[netip.Prefix]int)
	read := func(item *yaml.Node) {
		prefix, ok := d.prefix(item)
		if !ok {
			return
		}
		if first, again := seen[prefix]; again {
			d.warn(item, "leave it out", "%s is in this list already, at line %d", prefix, first)
			return
		}
		seen[prefix] = item.Line
		prefixes = append(prefixes, prefix)
	}
	if target(n).Kind == yaml.SequenceNode {
		if d.list(n, read) == 0 {
			d.fail(n, "", "cidr is empty, so that the rule could never match")
		}
	} else {
		read(n)
	}
	if len(prefixes) > 0 {
		d.selects(to, n, cidrSelector(prefixes))
	}
}

func (d *decoder) prefix(n *yaml.Node) (netip.Prefix, bool) {
	text := d.text(n)
	if !text.set {
		return netip.Prefix{}, false
	}
	prefix, err := netip.ParsePrefix(text.value)
	if err != nil {
		hint := "write an address and the length of its prefix, such as 10.0.0.0/8"
		if addr, err := netip.ParseAddr(text.value); err == nil && addr.Zone() == "" {
			hint = "write " + addr.String() + "/" + strconv.Itoa(addr.BitLen()) + " for one address"
		}
		d.fail(n, hint, "%s is no network", quoted(text.value))
		return netip.Prefix{}, false
	}
	masked := prefix.Masked()
	if masked != prefix {
		d.warn(n, "write "+masked.String(), "%s has bits set beyond its prefix", prefix)
	}
	if masked.Addr().Is4In6() {
		if masked.Bits() < 96 {
			d.fail(n, "write the IPv4 network", "%s mixes IPv4 and IPv6", prefix)
			return netip.Prefix{}, false
		}
		masked = netip.PrefixFrom(masked.Addr().Unmap(), masked.Bits()-96)
	}
	return masked, true
}

func (d *decoder) regex(to *descriptor, n *yaml.Node) {
	to.selects = true
	text := d.text(n)
	if !text.set {
		return
	}
	if len(text.value) > maxRegexBytes {
		d.fail(n, "", "a regex is at most %d bytes long", maxRegexBytes)
		return
	}
	if d.used.regexes++; d.used.regexes > maxAllRegexes {
		d.fail(n, "", "more than %d regexes", maxAllRegexes)
		return
	}
	re, err := regexp.Compile(text.value)
	if err != nil {
		d.fail(n, "", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	if text.value == "" {
		d.warn(n, "leave it out", "an empty regex matches every value")
	}
	d.selects(to, n, regexSelector(re))
}

func (d *decoder) rateLimit(to *descriptor, n *yaml.Node) {
	if d.limits(to, n) {
		d.limit(to, n)
	}
}

func (d *decoder) rateLimits(to *descriptor, n *yaml.Node) {
	if !d.limits(to, n) {
		return
	}
	items := d.list(n, func(item *yaml.Node) {
		if len(to.limits) < maxLimits {
			d.limit(to, item)
		}
	})
	if items > maxLimits {
		d.fail(n, "", "%d limits on one descriptor: at most %d", items, maxLimits)
	}
	if items == 0 {
		d.fail(n, "leave it out to let everything pass", "rate_limits is empty")
	}
}

// limits notes where the limits of a descriptor stand; there is one place.
func (d *decoder) limits(to *descriptor, n *yaml.Node) bool {
	if to.limited.src != 0 {
		d.fail(n, "put all of them into rate_limits", "rate_limit and rate_limits do not go together")
		return false
	}
	to.limited = d.mark(n)
	return true
}

// limit decodes one limit of a descriptor.
func (d *decoder) limit(of *descriptor, n *yaml.Node) {
	to := &limit{at: d.mark(n)}
	meant, ok := decodeMap(d, n, d.schema.limit, to)
	if !ok {
		return
	}
	for _, name := range meant {
		switch name { // reported under another name already
		case "unit":
			to.unit.at = to.at
		case "requests_per_unit":
			to.amount.at = to.at
		}
	}
	of.limits = append(of.limits, to)
}

func (d *decoder) replaces(n *yaml.Node) []setting[string] {
	var all []setting[string]
	items := d.list(n, func(item *yaml.Node) {
		if item := target(item); item.Kind == yaml.ScalarNode && !isNull(item) {
			d.fail(item, "write {name: "+item.Value+"}", "an item of replaces is a map with a name")
			return
		}
		var r replace
		decodeMap(d, item, d.schema.replace, &r)
		switch {
		case !r.name.set:
		case r.name.value == "":
			d.fail(item, "", "a name to replace must not be empty")
		default:
			all = append(all, r.name)
		}
	})
	if items == 0 {
		d.warn(n, "leave it out", "replaces is empty")
	}
	return all
}
