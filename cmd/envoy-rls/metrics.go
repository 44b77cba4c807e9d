package main

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// decisionMetrics gives the limiter its handles.
type decisionMetrics struct {
	metrics *telemetry.Metrics
	shadow  bool // SHADOW_MODE
}

var _ rls.Metrics = decisionMetrics{}

func (m decisionMetrics) Limit(domain string, l *descriptors.Limit, shadow bool) rls.LimitMetrics {
	h := m.metrics.Limit(domain, l.Label, shadow)
	handles := rls.LimitMetrics{OK: h.OK, Over: h.Over, Hits: h.Hits, NearLimit: h.NearLimit}
	if l.Rule != nil && (l.Rule.DetailedMetric || l.Rule.ValueToMetric != nil) {
		handles.Value = h.CountValue
	}
	handles.Tally = m.metrics.ReferenceTally(h, referenceLevels(l), l.Shadow)
	return handles
}

// referenceLevels are the entries of a limit's rule as envoyproxy/ratelimit names
// them in metrics.
func referenceLevels(l *descriptors.Limit) []string {
	if l.Rule == nil {
		return []string{l.Label}
	}
	levels := make([]string, len(l.Rule.Entries))
	for i, e := range l.Rule.Entries {
		levels[i] = e.Key
		if e.Value != "" {
			levels[i] += "_" + e.Value
		}
	}
	return levels
}

// newMetrics makes the metrics that the settings want.
func newMetrics(s settings.Metrics) *telemetry.Metrics {
	m := telemetry.New(telemetry.ReadBuild(version))
	if s.Compat {
		m.ExportReference()
	}
	return m
}

// countErrors is d, with its errors counted if METRICS_COMPAT wants them.
func countErrors(d service.Decider, s settings.Metrics, m *telemetry.Metrics) service.Decider {
	if !s.Compat {
		return d
	}
	return countedDecider{d, m}
}

// countedDecider counts the calls that could not be decided, for METRICS_COMPAT.
type countedDecider struct {
	service.Decider
	metrics *telemetry.Metrics
}

func (d countedDecider) Decide(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
	err := d.Decider.Decide(ctx, req, ans)
	if err != nil {
		d.metrics.CountReferenceError(errors.As(err, new(*buckets.StoreError)))
	}
	return err
}

func (m decisionMetrics) Domain(name string) rls.DomainMetrics {
	d := rls.DomainMetrics{
		Duration:  func(time.Duration) {},
		Unlimited: discard{},
		Unknown:   discard{},
		Policy: func(p descriptors.StorePolicy, reason string) {
			m.metrics.Policy(name, p.String(), reason).Add(1)
		},
	}
	for i := range d.Unmatched {
		d.Unmatched[i] = discard{}
	}
	if name == "" { // unknown domains: nothing of them is matched or decided
		d.Unknown = m.metrics.Unmatched(name, "domain")
		return d
	}
	took := m.metrics.DecisionDuration(name)
	d.Duration = func(d time.Duration) { telemetry.ObserveDuration(took, d) }
	d.Unlimited = m.metrics.Unmatched(name, "unlimited")
	for i := descriptors.Matched + 1; int(i) < len(d.Unmatched); i++ {
		d.Unmatched[i] = m.metrics.Unmatched(name, i.String())
	}
	return d
}

// discard is a counter of what cannot happen.
type discard struct{}

func (discard) Add(float64) {}

func (m decisionMetrics) Retain(rs *descriptors.Ruleset) {
	type name struct {
		domain, label string
		shadow        bool
	}
	limits, domains := map[name]bool{}, map[string]bool{"": true}
	add := func(domain string, l *descriptors.Limit) {
		domains[domain] = true
		limits[name{domain, l.Label, l.Shadow || m.shadow}] = true
	}
	for _, l := range rs.Limits() {
		add(l.Rule.Domain, l)
	}
	for _, d := range rs.Domains() {
		add(d.Name, rs.DefaultLimit(d))
	}
	m.metrics.Retain(
		func(domain, label string, shadow bool) bool { return limits[name{domain, label, shadow}] },
		func(domain string) bool { return domains[domain] })
}

// callMetrics observes the gRPC server.
type callMetrics struct {
	metrics *telemetry.Metrics
	decide  *telemetry.Method // the method that matters
}

func newCallMetrics(m *telemetry.Metrics) *callMetrics {
	names := make([]string, codes.Unauthenticated+1)
	for i := range names {
		names[i] = codes.Code(i).String()
	}
	return &callMetrics{m, m.Method(service.ServiceMethod, names)}
}

func (m *callMetrics) Call(method string, code codes.Code, elapsed time.Duration) {
	if method == service.ServiceMethod {
		m.decide.Observe(int(code), elapsed)
		return
	}
	m.metrics.ObserveGRPC(method, code.String(), elapsed)
}

func (m *callMetrics) Panic() { m.metrics.CountPanic() }

// timedStore counts and times what callers see of a store.
type timedStore struct {
	buckets.Store
	name    string
	metrics *telemetry.Metrics
	took    func(time.Duration)
}

func newTimedStore(s buckets.Store, name string, m *telemetry.Metrics) *timedStore {
	o := m.StoreDuration(name, "decide")
	return &timedStore{s, name, m, func(d time.Duration) { telemetry.ObserveDuration(o, d) }}
}

func (s *timedStore) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	begin := time.Now()
	s.Store.Decide(ctx, budget, calls)
	s.took(time.Since(begin))
	for _, call := range calls {
		if failed := (*buckets.StoreError)(nil); call.Err != nil && errors.As(call.Err, &failed) {
			s.metrics.CountStoreError(s.name, string(failed.Kind))
		}
	}
}
