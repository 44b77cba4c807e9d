package rls

import (
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Counter is a metric that only grows.
type Counter interface{ Add(float64) }

// Metrics makes the handles that decisions are counted with. Its methods are
// called when rules are installed, never during a decision, and may be called
// again with the same arguments: then they return handles of the same series.
// Label values come from rules, never from traffic.
type Metrics interface {
	// Limit returns the handles of a limit. shadow says that it never denies.
	// For an override where no rule matches, l.Label is its label.
	Limit(domain string, l *descriptors.Limit, shadow bool) LimitMetrics
	// Domain returns the handles of a domain; "" stands for all unknown ones.
	Domain(name string) DomainMetrics
	// Retain drops the series of limits and domains that are not in rs.
	Retain(rs *descriptors.Ruleset)
}

// LimitMetrics count the verdicts of one limit.
type LimitMetrics struct {
	OK        Counter // decisions that let the call pass
	Over      Counter // decisions over the limit, also of shadow limits
	Hits      Counter // hits asked for, each cost up to what tells verdicts apart
	NearLimit Counter // hits that were let pass above the near limit ratio
	// Value counts a decision by what the call's values were, for rules with
	// detailed_metric or value_to_metric; nil for all others.
	Value func(value string, over bool)
	// Tally counts a decision by its hits, those of them near the limit, and
	// whether they were over; nil counts nothing.
	Tally func(hits, near uint64, over bool)
}

// DomainMetrics count the calls of one domain.
type DomainMetrics struct {
	Duration func(time.Duration) // of a decision
	// Unmatched counts descriptors without a limit, by descriptors.Reason.
	Unmatched [6]Counter
	Unlimited Counter // descriptors that a rule lets pass without limit
	// Unknown counts descriptors of domains without rules.
	Unknown Counter
	// Policy counts decisions made by a store policy, for what reason: a
	// buckets.ErrorKind. It may be called during decisions.
	Policy func(policy descriptors.StorePolicy, reason string)
}

type noCounter struct{}

func (noCounter) Add(float64) {}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) Limit(string, *descriptors.Limit, bool) LimitMetrics {
	return LimitMetrics{OK: noCounter{}, Over: noCounter{}, Hits: noCounter{}, NearLimit: noCounter{}}
}

func (noMetrics) Domain(string) DomainMetrics {
	d := DomainMetrics{
		Duration:  func(time.Duration) {},
		Unlimited: noCounter{},
		Unknown:   noCounter{},
		Policy:    func(descriptors.StorePolicy, string) {},
	}
	for i := range d.Unmatched {
		d.Unmatched[i] = noCounter{}
	}
	return d
}

func (noMetrics) Retain(*descriptors.Ruleset) {}
