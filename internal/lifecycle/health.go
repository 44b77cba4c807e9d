package lifecycle

import (
	"fmt"
	"sync"
)

// State is where a server is in its life.
type State uint8

// The states, in the only order they come in.
const (
	Starting State = iota
	Ready
	Draining
	Stopped
)

var stateNames = [...]string{"starting", "ready", "draining", "stopped"}

func (s State) String() string { return stateNames[s] }

// Policy says what readiness takes.
type Policy struct {
	// WithoutRules lets a server be ready before it has rules.
	WithoutRules bool
	// WhileStore ends readiness while the store does not answer. Else losing
	// the store later does not: all replicas would leave their callers at once.
	WhileStore bool
}

// Rules is what is known of the rules.
type Rules struct {
	Loaded    bool // at least one domain can be decided
	NeedStore bool // some limit cannot be decided without the store
	// Problems are shown to whoever asks: rejected domains, held files.
	Problems []string
}

// Health is the state of a server. It is safe for concurrent use.
type Health struct {
	policy Policy
	notify func(ready bool)

	mu       sync.Mutex
	state    State
	rules    Rules
	answered bool  // the store has, once
	storeErr error // of the newest attempt
	asked    bool
	ready    bool
}

// NewHealth makes the health of a starting server. notify is called whenever
// readiness changes, in order; it must not call back.
func NewHealth(policy Policy, notify func(ready bool)) *Health {
	return &Health{policy: policy, notify: notify}
}

// SetRules tells of the rules in force.
func (h *Health) SetRules(r Rules) {
	h.update(func() { h.rules = r })
}

// SetStore tells how the store answered last; nil is well.
func (h *Health) SetStore(err error) {
	h.update(func() {
		h.asked, h.storeErr = true, err
		h.answered = h.answered || err == nil
	})
}

// Drain ends readiness for good.
func (h *Health) Drain() { h.advance(Draining) }

// Stop says that nothing is served any more.
func (h *Health) Stop() { h.advance(Stopped) }

func (h *Health) advance(to State) {
	h.update(func() { h.state = max(h.state, to) })
}

// update makes a change, and what follows from it.
func (h *Health) update(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	if h.state == Starting && len(h.missing()) == 0 {
		h.state = Ready
	}
	ready := h.state == Ready && !h.lostStore()
	if ready != h.ready {
		h.ready = ready
		h.notify(ready)
	}
}

func (h *Health) lostStore() bool { return h.policy.WhileStore && h.storeErr != nil }

// missing says what a starting server still waits for.
func (h *Health) missing() []string {
	var reasons []string
	if !h.rules.Loaded && !h.policy.WithoutRules {
		reasons = append(reasons, "no rules of any domain are loaded")
	}
	needed := h.rules.NeedStore || h.policy.WhileStore
	switch {
	case h.answered || !needed:
	case h.asked:
		reasons = append(reasons, fmt.Sprintf("the store has not answered yet: %v", h.storeErr))
	default:
		reasons = append(reasons, "the store has not answered yet")
	}
	return reasons
}

// Report is a state with its reasons, for people.
type Report struct {
	State State
	Ready bool
	// Reasons say why the server is not ready; empty if it is.
	Reasons []string
	// Problems do not end readiness.
	Problems []string
}

// Report tells the state now.
func (h *Health) Report() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Report{State: h.state, Ready: h.ready, Problems: h.rules.Problems}
	switch {
	case h.ready:
		if h.storeErr != nil {
			r.Problems = append(r.Problems[:len(r.Problems):len(r.Problems)], fmt.Sprintf("the store does not answer: %v", h.storeErr))
		}
	case h.state == Starting:
		r.Reasons = h.missing()
	case h.state == Ready:
		r.Reasons = []string{fmt.Sprintf("the store does not answer: %v", h.storeErr)}
	default:
		r.Reasons = []string{"the server is " + h.state.String()}
	}
	return r
}
