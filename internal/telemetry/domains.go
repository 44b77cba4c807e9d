package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The handles of a domain. The domain of calls for an unknown one is "".

// DecisionDuration is where decisions of a domain are timed.
func (m *Metrics) DecisionDuration(domain string) prometheus.Observer {
	m.know(domain)
	return m.decisionDuration.WithLabelValues(domain)
}

func (m *Metrics) know(domain string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.domains[domain] = true
}

// Unmatched counts descriptors of a domain that no limit applied to.
func (m *Metrics) Unmatched(domain, reason string) prometheus.Counter {
	m.know(domain)
	return m.unmatched.WithLabelValues(domain, reason)
}

// Policy counts verdicts of a domain that on_store_error gave. Those of the
// policy allow count as failing open, too. It may be called during decisions.
func (m *Metrics) Policy(domain, policy, reason string) Adder {
	c := policyCounter{decidedAt: &m.policyAt, verdicts: m.policies.WithLabelValues(domain, policy, reason)}
	if policy == "allow" {
		c.failOpen = m.failOpen.WithLabelValues(domain, reason)
	}
	return c
}

// Adder is a counter.
type Adder interface{ Add(float64) }

type policyCounter struct {
	decidedAt *atomic.Int64
	verdicts  prometheus.Counter
	failOpen  prometheus.Counter // nil if the policy is another
}

func (c policyCounter) Add(n float64) {
	c.decidedAt.Store(time.Now().UnixNano())
	c.verdicts.Add(n)
	if c.failOpen != nil {
		c.failOpen.Add(n)
	}
}

// policyLingers is how long after a verdict of a policy it counts as deciding.
const policyLingers = 10 * time.Second

func (m *Metrics) emitPolicyDeciding(emit emitter) {
	since := time.Since(time.Unix(0, m.policyAt.Load()))
	emit(0, prometheus.GaugeValue, number(since < policyLingers))
}
