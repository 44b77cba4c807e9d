package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// limitName is what a limit is called in labels.
type limitName struct {
	domain, rule string
	shadow       bool
}

// Limit holds the handles of one limit. They may be used at any time, also
// after their series were deleted.
type Limit struct {
	OK, Over  prometheus.Counter // verdicts
	Hits      prometheus.Counter
	NearLimit prometheus.Counter

	name      limitName
	owner     *Metrics
	values    valueSeries
	reference *referenceName // nil without METRICS_COMPAT
}

// Limit gives the handles of a limit by its label. A limit that is there
// already goes on counting.
func (m *Metrics) Limit(domain, rule string, shadow bool) *Limit {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.domains[domain] = true
	name := limitName{domain, rule, shadow}
	l := m.limits[name]
	if l == nil {
		l = &Limit{
			OK:        m.decisions.WithLabelValues(domain, rule, codeOK, strconv.FormatBool(shadow)),
			Over:      m.decisions.WithLabelValues(domain, rule, codeOver, strconv.FormatBool(shadow)),
			Hits:      m.hits.WithLabelValues(domain, rule),
			NearLimit: m.nearLimit.WithLabelValues(domain, rule),
			name:      name,
			owner:     m,
		}
		m.limits[name] = l
	}
	return l
}

const (
	codeOK   = "ok"
	codeOver = "over_limit"
)

// Retain deletes the series of limits and domains that are in force no more.
// limit is asked by domain and label, domain by name.
func (m *Metrics) Retain(limit func(domain, rule string, shadow bool) bool, domain func(name string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, l := range m.limits {
		if !limit(name.domain, name.rule, name.shadow) {
			delete(m.limits, name)
			m.values -= l.values.count()
			if l.reference != nil {
				m.reference.release(*l.reference)
			}
			m.deleteLimit(name)
		}
	}
	for name := range m.domains {
		if !domain(name) {
			delete(m.domains, name)
			m.deleteDomain(name)
		}
	}
}

// deleteLimit deletes the series of a limit. Only verdicts have the label
// shadow: the rest stays while the limit is there with the other one.
func (m *Metrics) deleteLimit(name limitName) {
	labels := prometheus.Labels{"domain": name.domain, "rule": name.rule, "shadow": strconv.FormatBool(name.shadow)}
	m.decisions.DeletePartialMatch(labels)
	if m.limits[limitName{name.domain, name.rule, !name.shadow}] != nil {
		return
	}
	delete(labels, "shadow")
	m.hits.DeletePartialMatch(labels)
	m.nearLimit.DeletePartialMatch(labels)
	m.byValue.DeletePartialMatch(labels)
}

func (m *Metrics) deleteDomain(name string) {
	labels := prometheus.Labels{"domain": name}
	m.decisionDuration.DeletePartialMatch(labels)
	m.unmatched.DeletePartialMatch(labels)
	m.policies.DeletePartialMatch(labels)
	m.failOpen.DeletePartialMatch(labels)
}
