package rls_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/model"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// What a decision is, said once more: slowly, from the contract, one limit after
// the other, on the model of the algorithms. It shares with package rls only
// requests and answers. TestDecisionsAgreeWithTheContract compares the two.

// plainRule is a rule of one key, with what the contract says about it.
type plainRule struct {
	key    string
	shadow bool
	quota  bool
	limits []plainLimit // none: everything passes
}

type plainLimit struct {
	unlimited  bool
	algorithm  buckets.Algorithm
	amount     uint64
	burst      uint64 // 0 = not given
	unit       string
	firstHit   bool
	deniedHits string
	name       string
	replaces   string // "" = none
}

var unitMicros = map[string]int64{"second": 1_000_000, "minute": 60_000_000}

// yaml writes the rule down.
func (r plainRule) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- {key: %s, shadow_mode: %v, quota_mode: %v", r.key, r.shadow, r.quota)
	if len(r.limits) > 0 {
		b.WriteString(", rate_limits: [")
		for i, l := range r.limits {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(l.yaml())
		}
		b.WriteString("]")
	}
	return b.String() + "}\n"
}

func (l plainLimit) yaml() string {
	text := "{unlimited: true"
	if !l.unlimited {
		text = fmt.Sprintf("{unit: %s, requests_per_unit: %d, algorithm: %s, denied_hits: %s", l.unit, l.amount, l.algorithm, l.deniedHits)
	}
	if l.burst != 0 {
		text += fmt.Sprintf(", burst: %d", l.burst)
	}
	if l.firstHit {
		text += ", align: first_hit"
	}
	if l.name != "" {
		text += ", name: " + l.name
	}
	if l.replaces != "" {
		text += fmt.Sprintf(", replaces: [{name: %s}]", l.replaces)
	}
	return text + "}"
}

// bucket is the limit as the model takes it.
func (l plainLimit) bucket() *buckets.Limit {
	b := &buckets.Limit{Algorithm: l.algorithm, Amount: l.amount, Burst: l.burst, WindowMicros: unitMicros[l.unit]}
	if l.firstHit {
		b.Align = buckets.AlignFirstHit
	}
	if err := b.Prepare(); err != nil {
		panic(err)
	}
	return b
}

// plainSpec is the contract with its buckets: for each, all that was ever done
// with it.
type plainSpec struct {
	rules                 map[string]plainRule
	shadowMode, quotaMode bool
	done                  map[string][]deed
	nowMicros             int64
}

type deed struct {
	atMicros int64
	item     buckets.Item
}

// applied is a limit of a call.
type applied struct {
	plainLimit
	descriptor int
	bucket     *buckets.Limit
	key        string
	shadow     bool
	quota      bool
	op         buckets.Op
	hits       uint64
	charged    bool

	over    bool
	verdict buckets.Verdict // told
}

// told is what the contract says of a descriptor.
type told struct {
	code      rls.Code
	limits    int
	remaining uint64 // of the only limit
	reset     int64
}

func (s *plainSpec) decide(req *rls.Request) (rls.Code, []told) {
	limits := s.find(req)
	trial := s.world()
	for i := range limits {
		s.try(trial, &limits[i])
	}
	denied := s.denied(limits, len(req.Descriptors))
	if denied {
		trial = s.world() // as if nothing had been
	}
	for i := range limits {
		l := &limits[i]
		if l.unlimited || l.amount == 0 {
			continue
		}
		op := l.op
		if op == buckets.Take && !l.charged && (denied || l.over) {
			op = buckets.Look // leaves no trace
		}
		s.done[l.key] = append(s.done[l.key], deed{s.nowMicros, itemOf(l, op)})
		if !denied {
			continue
		}
		if v := trial.do(l, op); !l.over { // what is over was told already
			l.verdict = v
		}
	}
	overall := rls.OK
	if denied {
		overall = rls.OverLimit
	}
	return overall, tell(limits, len(req.Descriptors))
}

// find lists the limits of a call with what they cost.
func (s *plainSpec) find(req *rls.Request) []applied {
	var all []applied
	for i, desc := range req.Descriptors {
		rule, known := s.rules[desc.Entries[0].Key]
		limits := rule.limits
		if desc.HasLimit {
			limits = []plainLimit{overridden(limits, desc.Limit)}
		} else if !known {
			continue
		}
		for _, l := range limits {
			a := applied{plainLimit: l, descriptor: i}
			a.shadow = rule.shadow || s.shadowMode
			a.quota = !a.shadow && (rule.quota || s.quotaMode)
			a.hits = uint64(max(1, req.HitsAddend))
			if desc.HasHits {
				a.hits = desc.Hits
			}
			if desc.IsNegative {
				a.op = buckets.Refund
			} else if a.hits == 0 {
				a.op, a.hits = buckets.Look, 1
			}
			a.charged = l.deniedHits == "charged" || l.deniedHits == "auto" && desc.HasHits
			if !l.unlimited {
				a.bucket = l.bucket()
				a.hits = min(a.hits, 2*max(l.amount, a.bucket.Burst)+1) // what is more tells nothing apart
				a.key = string(new(buckets.Keyer).Append(nil, req.Domain, desc.Entries, nil, a.bucket))
			}
			all = append(all, a)
		}
	}
	var replaced []string
	for _, a := range all {
		replaced = append(replaced, a.replaces)
	}
	return slices.DeleteFunc(all, func(a applied) bool {
		return a.name != "" && !a.unlimited && slices.Contains(replaced, a.name)
	})
}

// overridden is what an override makes of the first limit.
func overridden(limits []plainLimit, o rls.Override) plainLimit {
	l := plainLimit{algorithm: buckets.TokenBucket, deniedHits: "auto"}
	if len(limits) > 0 && limits[0].unlimited {
		l.name, l.replaces = limits[0].name, limits[0].replaces
	} else if len(limits) > 0 {
		l = limits[0]
	}
	l.amount, l.burst = uint64(o.RequestsPerUnit), uint64(o.RequestsPerUnit)
	l.unit = map[int32]string{1: "second", 2: "minute"}[o.Unit]
	return l
}

// try gives the verdict on a limit, on what those before it left.
func (s *plainSpec) try(trial *trial, l *applied) {
	switch {
	case l.unlimited:
	case l.amount == 0:
		l.over = l.op != buckets.Refund
		l.verdict = buckets.Verdict{Allowed: !l.over, ResetMicros: unitMicros[l.unit]}
	case l.op == buckets.Refund:
		l.verdict = trial.do(l, buckets.Refund)
	default:
		l.verdict = trial.do(l, buckets.Look)
		l.over = !l.verdict.Allowed
		if l.op == buckets.Take && (!l.over || l.charged) {
			l.verdict = trial.do(l, buckets.Take)
		}
	}
}

// denied: an enforced limit denies, a look included, or every quota limit does.
// Under QUOTA_MODE a descriptor without a limit is a quota limit that does not.
func (s *plainSpec) denied(limits []applied, descriptors int) bool {
	quotas, over := 0, 0
	limited := map[int]bool{}
	for _, l := range limits {
		limited[l.descriptor] = true
		switch {
		case l.unlimited || l.shadow:
		case !l.quota:
			if l.over {
				return true
			}
		case l.op != buckets.Refund:
			quotas++
			if l.over {
				over++
			}
		}
	}
	if s.quotaMode && len(limited) < descriptors {
		return false
	}
	return quotas > 0 && quotas == over
}

func tell(limits []applied, descriptors int) []told {
	all := make([]told, descriptors)
	for i := range all {
		all[i].code = rls.OK
	}
	for _, l := range limits {
		t := &all[l.descriptor]
		t.limits++
		if l.over && !l.shadow {
			t.code = rls.OverLimit
		}
		t.remaining = l.verdict.Remaining
		t.reset = (l.verdict.ResetMicros + 999_999) / 1_000_000
		if l.over {
			t.reset = max(1, t.reset)
		}
		if l.unlimited {
			t.remaining = 1<<32 - 1
		}
	}
	return all
}

// trial is a world in which things can be tried: the buckets as they are now.
type trial struct {
	model.Store
}

func (s *plainSpec) world() *trial {
	w := new(trial)
	for _, deeds := range s.done {
		for _, d := range deeds {
			w.NowMicros = d.atMicros
			w.one(d.item)
		}
	}
	w.NowMicros = s.nowMicros
	return w
}

func (w *trial) do(l *applied, op buckets.Op) buckets.Verdict { return w.one(itemOf(l, op)) }

// itemOf charges what it takes: whether it may is for others to say.
func itemOf(l *applied, op buckets.Op) buckets.Item {
	return buckets.Item{Key: []byte(l.key), Limit: l.bucket, Hits: l.hits, Op: op, Charged: op == buckets.Take}
}

func (w *trial) one(item buckets.Item) buckets.Verdict {
	call := &buckets.Call{Items: []buckets.Item{item}}
	w.Decide(context.Background(), 0, []*buckets.Call{call})
	return call.Items[0].Verdict
}
