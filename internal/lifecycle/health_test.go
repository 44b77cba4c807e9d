package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var errDown = errors.New("connection refused")

// A step changes a health; what is expected of it after.
type step struct {
	do    func(*Health)
	state State
	ready bool
	why   string // part of a reason
}

var (
	rules         = func(h *Health) { h.SetRules(Rules{Loaded: true, NeedStore: true}) }
	easyRules     = func(h *Health) { h.SetRules(Rules{Loaded: true}) }
	noRules       = func(h *Health) { h.SetRules(Rules{}) }
	storeAnswers  = func(h *Health) { h.SetStore(nil) }
	storeIsDown   = func(h *Health) { h.SetStore(errDown) }
	drain         = (*Health).Drain
	nothing       = func(*Health) {}
	noRulesReason = "no rules of any domain"
	noStoreReason = "the store has not answered yet"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy Policy
		steps  []step
	}{
		"L5: not ready before a first good load": {steps: []step{
			{nothing, Starting, false, noRulesReason},
			{storeAnswers, Starting, false, noRulesReason},
			{noRules, Starting, false, noRulesReason},
			{rules, Ready, true, ""},
		}},
		"S3: not ready before the store has answered": {steps: []step{
			{rules, Starting, false, noStoreReason},
			{storeIsDown, Starting, false, "connection refused"},
			{storeAnswers, Ready, true, ""},
		}},
		"a store that was lost before there were rules": {steps: []step{
			{storeAnswers, Starting, false, noRulesReason},
			{storeIsDown, Starting, false, noRulesReason},
			{rules, Ready, true, ""},
		}},
		"no limit needs the store": {steps: []step{
			{storeIsDown, Starting, false, noRulesReason},
			{easyRules, Ready, true, ""},
		}},
		"S5: losing the store does not end readiness": {steps: []step{
			{rules, Starting, false, ""},
			{storeAnswers, Ready, true, ""},
			{storeIsDown, Ready, true, ""},
			{noRules, Ready, true, ""},
		}},
		"unless it is asked for": {policy: Policy{WhileStore: true}, steps: []step{
			{easyRules, Starting, false, noStoreReason},
			{storeAnswers, Ready, true, ""},
			{storeIsDown, Ready, false, "does not answer: connection refused"},
			{storeAnswers, Ready, true, ""},
		}},
		"without rules": {policy: Policy{WithoutRules: true}, steps: []step{
			{storeAnswers, Ready, true, ""},
		}},
		"draining is for good": {steps: []step{
			{easyRules, Ready, true, ""},
			{drain, Draining, false, "draining"},
			{easyRules, Draining, false, "draining"},
			{storeAnswers, Draining, false, "draining"},
			{(*Health).Stop, Stopped, false, "stopped"},
			{drain, Stopped, false, "stopped"},
		}},
		"drained before it was ready": {steps: []step{
			{drain, Draining, false, "draining"},
			{easyRules, Draining, false, "draining"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []bool
			h := NewHealth(tt.policy, func(ready bool) { told = append(told, ready) })
			was := false
			var want []bool
			for i, s := range tt.steps {
				s.do(h)
				r := h.Report()
				if r.State != s.state || r.Ready != s.ready {
					t.Errorf("step %d: %v, ready %v; want %v, %v", i, r.State, r.Ready, s.state, s.ready)
				}
				if why := strings.Join(r.Reasons, "; "); !strings.Contains(why, s.why) || s.ready && why != "" {
					t.Errorf("step %d: reasons %q, want %q in them", i, why, s.why)
				}
				if s.ready != was {
					was, want = s.ready, append(want, s.ready)
				}
			}
			if !slices.Equal(told, want) {
				t.Errorf("told %v, want %v: once for each change", told, want)
			}
		})
	}
}

func TestReportProblems(t *testing.T) {
	t.Parallel()
	h := NewHealth(Policy{}, func(bool) {})
	h.SetStore(nil)
	h.SetRules(Rules{Loaded: true, Problems: []string{"domain a is rejected"}})
	h.SetStore(errDown)
	want := []string{"domain a is rejected", "the store does not answer: connection refused"}
	for range 2 { // a report does not change the next
		if r := h.Report(); !r.Ready || !slices.Equal(r.Problems, want) {
			t.Errorf("ready %v with problems %q, want %q", r.Ready, r.Problems, want)
		}
	}
}
