package explain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// descriptor tells the way of a descriptor; domain is nil if it is unknown.
func (e *Explainer) descriptor(domain *descriptors.Domain, desc *rls.Descriptor) Descriptor {
	d := Descriptor{entries: desc.Entries, Steps: []Step{}, Limits: []Limit{}, Refund: desc.IsNegative}
	if desc.HasHits {
		d.Hits = &desc.Hits
	}
	if desc.HasLimit {
		d.Override = overrideText(&desc.Limit)
	}
	d.Entries = make([]Entry, len(desc.Entries))
	for i, entry := range desc.Entries {
		d.Entries[i] = Entry{printable(entry.Key), printable(entry.Value)}
	}
	if domain == nil {
		d.Result, d.Reason = "unknown", "the domain is unknown"
		return d
	}
	way := walk{explainer: e, d: &d, domain: domain.Name}
	match := domain.Observe(desc.Entries, way.step)
	for i := range d.Steps { // now that it is known which values are sensitive
		if step := &d.Steps[i]; step.Place == "" {
			step.Rule = d.Entries[step.Depth].Key + "=" + d.Entries[step.Depth].Value
		}
	}
	d.end(domain, match)
	return d
}

// walk turns the steps of a match into those of a descriptor.
type walk struct {
	explainer *Explainer
	d         *Descriptor
	domain    string
	taken     []*descriptors.Rule // by depth: the rule that the way goes through
}

func (w *walk) step(s descriptors.Step) {
	w.taken = w.taken[:s.Depth]
	entry := w.d.entries[s.Depth]
	step := Step{Depth: s.Depth, Kind: s.Kind.String(), Taken: s.Taken}
	if s.Rule == nil {
		step.Rule = w.d.Entries[s.Depth].Key + "=" + w.d.Entries[s.Depth].Value
	} else {
		parent := w.domain
		if s.Depth > 0 {
			parent = w.taken[s.Depth-1].Path
		}
		step.Rule = printable(strings.TrimPrefix(s.Rule.Path, parent+"/"))
		step.Place = s.Rule.Place.String()
	}
	if s.Taken {
		w.taken = append(w.taken, s.Rule)
		w.hide(s.Rule)
	}
	step.Reason = reason(s, entry)
	if n := len(w.d.Steps); s.Rule == nil && n > 0 && w.d.Steps[n-1] == step {
		return // a network of another length
	}
	w.d.Steps = append(w.d.Steps, step)
}

// hide hashes the values that a rule calls sensitive.
func (w *walk) hide(rule *descriptors.Rule) {
	for i, mark := range rule.Marks {
		if mark.Kind == buckets.Sensitive {
			w.d.Entries[i].Value = string(w.explainer.Keyer.AppendHashed(nil, w.d.entries[i].Value))
		}
	}
}

func reason(s descriptors.Step, entry descriptors.Entry) string {
	switch {
	case s.Kind == descriptors.MatchKey:
		return "takes any value"
	case s.Taken && s.Kind == descriptors.MatchExact:
		return "the value is the same"
	case s.Taken && s.Kind == descriptors.MatchCIDR:
		return "the network holds the address"
	case s.Taken:
		return "the " + s.Kind.String() + " matches"
	case s.Kind == descriptors.MatchExact:
		return "no rule has exactly this value"
	case s.Kind == descriptors.MatchCIDR:
		return "no network of the rules holds this address"
	}
	return "the " + s.Kind.String() + " does not match"
}

// end says where the way ends and why.
func (d *Descriptor) end(domain *descriptors.Domain, m descriptors.Match) {
	d.Result, d.rule = m.Reason.String(), m.Rule
	if m.Rule != nil {
		d.Rule, d.Place = printable(m.Rule.Path), m.Rule.Place.String()
	}
	keys := domain.Keys(d.entries)
	depth := 0 // of the entry at which it ends, where it does not match
	for i := range d.Steps {
		if d.Steps[i].Taken {
			depth = max(depth, d.Steps[i].Depth+1)
		}
	}
	last := Entry{}
	if depth < len(d.Entries) {
		last = d.Entries[depth]
	}
	switch m.Reason {
	case descriptors.Matched:
		d.Reason = "the rule has limits"
	case descriptors.Whitelisted:
		d.Reason = "the rule has no limit: everything passes"
	case descriptors.NoKey:
		d.Reason = fmt.Sprintf("no rule here has the key %s: it passes without a limit", last.Key)
		d.Hint = descriptors.DidYouMean(last.Key, keys)
	case descriptors.NoValue:
		d.Reason = fmt.Sprintf("no rule takes the value of %s: it passes without a limit", last.Key)
	case descriptors.TooDeep:
		d.Reason = fmt.Sprintf("no rule goes on below here, but the descriptor does, with %s: it passes without a limit", last.Key)
	case descriptors.TooShort:
		d.Reason = "the descriptor ends above any limit: it passes"
		if len(keys) > 0 {
			d.Hint = "rules go on with " + strings.Join(keys, ", ")
		}
	}
}

func overrideText(o *rls.Override) string {
	unit := "an unknown unit"
	if o.Unit > 0 && o.Unit <= int32(descriptors.Week) {
		unit = descriptors.Unit(o.Unit).String()
	}
	return rateText(o.RequestsPerUnit, unit, o.Multiplier)
}

func rateText(amount uint32, unit string, multiplier uint32) string {
	if multiplier > 1 {
		return fmt.Sprintf("%d in %d %ss", amount, multiplier, unit)
	}
	if unit == descriptors.Hour.String() {
		return fmt.Sprintf("%d an hour", amount)
	}
	return fmt.Sprintf("%d a %s", amount, unit)
}

// printable is text that a terminal can show: other bytes are written \xNN.
func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r != ' ' && !unicode.IsPrint(r) {
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
