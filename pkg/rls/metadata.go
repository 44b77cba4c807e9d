package rls

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// metadata makes the dynamic metadata of the answer: what was asked, what the
// rules say about those that passed, and who decided.
func (d *decision) metadata(ans *Answer) map[string]any {
	m := map[string]any{
		"domain":      shown(d.req.Domain),
		"descriptors": d.descriptorsMetadata(),
	}
	if d.req.HitsAddend != 0 {
		m["hitsAddend"] = float64(d.req.HitsAddend)
	}
	if merged := d.rulesMetadata(ans); len(merged) > 0 {
		m["metadata"] = merged
	}
	if p := d.best; p != nil {
		m["rule"] = shown(p.limit.Label)
		m["remaining"] = float64(p.verdict.Remaining)
		m["reset_micros"] = float64(p.verdict.ResetMicros)
	}
	if labels := d.wouldHaveDenied(); len(labels) > 0 {
		list := make([]any, len(labels))
		for i, label := range labels {
			list[i] = shown(label)
		}
		m["would_have_denied"] = list
	}
	if d.failed != nil {
		m["store_error"] = string(d.failed.Kind)
		if policy := d.decidingPolicy(); policy != "" {
			m["store_policy"] = policy
		}
	}
	return m
}

func (d *decision) descriptorsMetadata() []any {
	list := make([]any, len(d.req.Descriptors))
	for i := range d.req.Descriptors {
		desc := &d.req.Descriptors[i]
		m := map[string]any{"entries": d.entriesMetadata(i)}
		if desc.HasLimit {
			m["limit"] = desc.Limit.text()
		}
		if desc.HasHits {
			m["hitsAddend"] = float64(desc.Hits)
		}
		list[i] = m
	}
	return list
}

func (d *decision) entriesMetadata(descriptor int) []any {
	var marks []buckets.Mark
	if d.domain != nil {
		marks = d.marks[descriptor]
	}
	entries := d.req.Descriptors[descriptor].Entries
	list := make([]any, len(entries))
	for i, e := range entries {
		value := e.Value
		if marks != nil && marks[i].Kind == buckets.Sensitive {
			value = string(d.limiter.opt.Keyer.AppendHashed(nil, value))
		}
		list[i] = shown(e.Key) + "=" + shown(value)
	}
	return list
}

// text is an override in protobuf's text format.
func (o *Override) text() string {
	text := fmt.Sprintf("requests_per_unit:%d unit:%s", o.RequestsPerUnit, strings.ToUpper(o.unit().String()))
	if o.Multiplier > 1 {
		text += fmt.Sprintf(" unit_multiplier:{value:%d}", o.Multiplier)
	}
	return text
}

// rulesMetadata is the union of the metadata of the rules whose descriptors
// passed. The first to name a key has it; maps are merged. The rules' own maps
// are read only.
func (d *decision) rulesMetadata(ans *Answer) map[string]any {
	merged := map[string]any{}
	last := -1
	for i := range d.picks {
		p := &d.picks[i]
		rule := p.limit.Rule
		if p.descriptor == last || p.limit.Unlimited || rule == nil || ans.Statuses[p.descriptor].Code != OK {
			continue
		}
		last = p.descriptor
		mergeMetadata(merged, rule.Metadata)
	}
	return merged
}

func mergeMetadata(into, from map[string]any) {
	for key, value := range from {
		old, taken := into[key]
		if !taken {
			into[key] = copied(value)
			continue
		}
		oldMap, ok := old.(map[string]any)
		if newMap, also := value.(map[string]any); ok && also {
			mergeMetadata(oldMap, newMap)
		}
	}
}

// copied copies a value as deep as it can be changed.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for key, item := range value {
			m[key] = copied(item)
		}
		return m
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = copied(item)
		}
		return list
	}
	return value
}

// shown is text that any reader can show: bytes that are no UTF-8, and control
// characters, are written \xNN.
func shown(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || isControl(r) {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
