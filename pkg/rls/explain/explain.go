package explain

import (
	"context"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Explainer explains calls to a limiter. It is safe for concurrent use.
type Explainer struct {
	Limiter *rls.Limiter
	Keyer   buckets.Keyer // that of the limiter: it names sensitive values
}

// Explanation is how a call is decided.
type Explanation struct {
	Domain string `json:"domain"`
	// Note says why no rule of the domain is asked; "" if they are.
	Note        string       `json:"note,omitempty"`
	Descriptors []Descriptor `json:"descriptors"`
	Code        string       `json:"code,omitempty"` // OK or OVER_LIMIT; "" if the call fails
	Error       string       `json:"error,omitempty"`
	Rule        string       `json:"rule,omitempty"` // the label of the limit that speaks for the call
}

// Descriptor is the way of one descriptor.
type Descriptor struct {
	Entries  []Entry `json:"entries"`
	Override string  `json:"override,omitempty"` // the limit that it brings along
	Hits     *uint64 `json:"hits,omitempty"`     // its own cost
	Refund   bool    `json:"refund,omitempty"`
	Steps    []Step  `json:"steps"`
	Result   string  `json:"result"`         // as descriptors.Reason says it
	Reason   string  `json:"reason"`         // the same in a sentence
	Hint     string  `json:"hint,omitempty"` // what could have matched
	Rule     string  `json:"rule,omitempty"` // path of the rule at which it ends
	Place    string  `json:"place,omitempty"`
	Limits   []Limit `json:"limits"`
	Code     string  `json:"code,omitempty"`
	rule     *descriptors.Rule
	entries  []descriptors.Entry
}

// Entry is an entry of a descriptor. The value of a sensitive one is hashed.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Step is one candidate on the way.
type Step struct {
	Depth  int    `json:"depth"` // which entry
	Kind   string `json:"kind"`  // how the rule picks values
	Rule   string `json:"rule"`  // its part of the path
	Place  string `json:"place,omitempty"`
	Taken  bool   `json:"taken"`
	Reason string `json:"reason"`
}

// Limit is what one limit says of the call.
type Limit struct {
	Label        string `json:"label"`
	Place        string `json:"place,omitempty"`
	Unlimited    bool   `json:"unlimited,omitempty"`
	Replaced     bool   `json:"replaced,omitempty"` // another limit of the call takes its place
	Amount       uint32 `json:"requests_per_unit"`
	Unit         string `json:"unit,omitempty"`
	Multiplier   uint32 `json:"unit_multiplier,omitempty"`
	Algorithm    string `json:"algorithm,omitempty"`
	Burst        uint64 `json:"burst,omitempty"` // capacity of the bucket
	DeniedHits   string `json:"denied_hits,omitempty"`
	OnStoreError string `json:"on_store_error,omitempty"`
	Role         string `json:"role,omitempty"` // enforced, shadow or quota
	Key          string `json:"bucket_key,omitempty"`
	Op           string `json:"op,omitempty"` // take, look or refund
	Hits         uint64 `json:"hits"`
	Allowed      bool   `json:"allowed"`
	Charged      bool   `json:"charged"`
	Remaining    uint64 `json:"remaining"`
	ResetMicros  int64  `json:"reset_micros"`
	Speaks       bool   `json:"speaks,omitempty"` // headers and Retry-After are of it
}

// Call decides a call as the limiter does, charges included unless it only looks,
// fills ans in, and explains it. Where the limiter fails, so does Call, with the same error; the
// ways of the descriptors are explained nevertheless.
func (e *Explainer) Call(ctx context.Context, req *rls.Request, ans *rls.Answer) (*Explanation, error) {
	x := &Explanation{Domain: printable(req.Domain)}
	set := e.Limiter.Ruleset()
	var domain *descriptors.Domain
	if set != nil {
		domain = set.Domain(req.Domain)
	}
	if domain == nil {
		x.unknown(req.Domain, set)
	}
	for i := range req.Descriptors {
		x.Descriptors = append(x.Descriptors, e.descriptor(domain, &req.Descriptors[i]))
	}
	applied, err := e.Limiter.Explain(ctx, req, ans)
	if err != nil {
		x.Error = err.Error()
		return x, err
	}
	x.answer(applied, ans)
	return x, nil
}

func (x *Explanation) unknown(name string, set *descriptors.Ruleset) {
	var names []string
	for _, d := range set.Domains() {
		names = append(names, d.Name)
	}
	x.Note = "no rules have the domain " + printable(name) + ": its calls pass"
	if hint := descriptors.DidYouMean(name, names); hint != "" {
		x.Note += "; " + hint
	}
}

// answer takes over what the limits said.
func (x *Explanation) answer(applied []rls.Applied, ans *rls.Answer) {
	x.Code = codeText(ans.Code)
	for i := range applied {
		a := &applied[i]
		d := &x.Descriptors[a.Descriptor]
		d.Limits = append(d.Limits, newLimit(a))
		if a.Speaks {
			x.Rule = a.Limit.Label
		}
	}
	for i := range x.Descriptors {
		d := &x.Descriptors[i]
		d.Code = codeText(ans.Statuses[i].Code)
		d.addReplaced()
	}
}

// addReplaced adds the limits of the rule that are not in the call any more.
func (d *Descriptor) addReplaced() {
	if d.rule == nil || d.Override != "" {
		return
	}
	for _, l := range d.rule.Limits {
		found := false
		for i := range d.Limits {
			found = found || d.Limits[i].Label == l.Label && d.Limits[i].Place == l.Place.String()
		}
		if !found {
			r := newLimit(&rls.Applied{Limit: l})
			r.Replaced = true
			d.Limits = append(d.Limits, r)
		}
	}
}

var (
	ops   = [...]string{buckets.Take: "take", buckets.Look: "look", buckets.Refund: "refund"}
	roles = [...]string{buckets.Enforced: "enforced", buckets.Shadow: "shadow", buckets.Quota: "quota"}
)

func newLimit(a *rls.Applied) Limit {
	l := a.Limit
	out := Limit{Label: l.Label, Unlimited: l.Unlimited, Allowed: a.Verdict.Allowed}
	if l.Place.Line > 0 {
		out.Place = l.Place.String()
	}
	if l.Unlimited {
		return out
	}
	out.Amount, out.Unit, out.Multiplier = l.Amount, l.Unit.String(), l.Multiplier
	out.Algorithm, out.Burst = l.Bucket.Algorithm.String(), l.Bucket.Capacity()
	out.DeniedHits, out.OnStoreError = l.DeniedHits.String(), l.OnStoreError.String()
	out.Role, out.Op, out.Hits, out.Key = roles[a.Role], ops[a.Op], a.Hits, a.Key
	out.Speaks = a.Speaks
	v := &a.Verdict
	out.Charged, out.Remaining, out.ResetMicros = v.Charged, v.Remaining, v.ResetMicros
	return out
}

func codeText(c rls.Code) string {
	if c == rls.OverLimit {
		return "OVER_LIMIT"
	}
	return "OK"
}

// Reset is the limit's reset as a duration.
func (l *Limit) Reset() time.Duration { return time.Duration(l.ResetMicros) * time.Microsecond }
