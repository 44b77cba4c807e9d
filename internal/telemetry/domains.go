package telemetry

import "github.com/prometheus/client_golang/prometheus"

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
	c := m.policies.WithLabelValues(domain, policy, reason)
	if policy != "allow" {
		return c
	}
	return both{c, m.failOpen.WithLabelValues(domain, reason)}
}

// Adder is a counter.
type Adder interface{ Add(float64) }

type both [2]Adder

func (b both) Add(n float64) {
	b[0].Add(n)
	b[1].Add(n)
}
