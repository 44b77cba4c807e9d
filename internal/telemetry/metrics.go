package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "envoy_rls"

// Metrics are all metrics of a server. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	decisions        *prometheus.CounterVec
	hits             *prometheus.CounterVec
	nearLimit        *prometheus.CounterVec
	byValue          *prometheus.CounterVec
	decisionDuration *prometheus.HistogramVec
	unmatched        *prometheus.CounterVec
	policies         *prometheus.CounterVec
	failOpen         *prometheus.CounterVec

	grpcRequests *prometheus.CounterVec
	grpcDuration *prometheus.HistogramVec
	panics       prometheus.Counter
	ready        prometheus.Gauge

	store     storeMetrics
	redis     watched[RedisStats]
	giveBacks watched[GiveBacks]
	config    configMetrics
	reference *referenceMetrics // nil without METRICS_COMPAT

	policyAt atomic.Int64 // when a policy last decided, in Unix ns

	mu      sync.Mutex
	limits  map[limitName]*Limit
	domains map[string]bool // those that have series
	values  int             // values that have series, at most MaxValues
}

// New makes the metrics of a server of this build.
func New(b Build) *Metrics {
	m := &Metrics{
		registry: prometheus.NewPedanticRegistry(),
		limits:   map[limitName]*Limit{},
		domains:  map[string]bool{},
	}
	m.decisions = m.counters("decisions_total",
		"Verdicts of limits, by what they said: ok or over_limit. shadow verdicts deny nothing.",
		"domain", "rule", "code", "shadow")
	m.hits = m.counters("hits_total",
		"Hits that calls asked of a limit.", "domain", "rule")
	m.nearLimit = m.counters("near_limit_total",
		"Hits that were allowed above NEAR_LIMIT_RATIO of the limit.", "domain", "rule")
	m.byValue = m.counters("decisions_by_value_total",
		"Verdicts of limits with detailed_metric or value_to_metric, by the values of the call.",
		"domain", "rule", "code", "value")
	m.decisionDuration = m.histograms("decision_duration_seconds",
		"Time to decide a call, the store included.", "domain")
	m.unmatched = m.counters("unmatched_total",
		"Descriptors that no limit applied to, by why. All unknown domains are the empty one.", "domain", "reason")
	m.policies = m.counters("policy_decisions_total",
		"Verdicts given by on_store_error, by why the store could not decide.", "domain", "policy", "reason")
	m.failOpen = m.counters("fail_open_total",
		"Verdicts of on_store_error: allow: hits let through uncounted.", "domain", "reason")
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{desc("policy_deciding",
			"1 while on_store_error decides calls: it did in the last 10 seconds.")},
		read: m.emitPolicyDeciding,
	})
	m.grpcRequests = m.counters("grpc_requests_total",
		"Calls of gRPC methods, by status code.", "method", "code")
	m.grpcDuration = m.histograms("grpc_request_duration_seconds",
		"Time to answer a gRPC call.", "method")
	m.panics = m.counter("panics_total", "Faults of this server that a call survived.")
	m.ready = m.gauge("ready", "1 while the server is ready for traffic.")
	m.store = newStoreMetrics(m)
	m.config = newConfigMetrics(m)
	m.collectProcess(b)
	return m
}

func (m *Metrics) collectProcess(b Build) {
	info := m.gauges("build_info", "1, with the build as labels.", "version", "revision", "goversion")
	info.WithLabelValues(b.Version, b.Revision, b.Go).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

// SetReady says whether the server is ready for traffic.
func (m *Metrics) SetReady(ready bool) { m.ready.Set(number(ready)) }

// CountPanic counts a fault that a call survived.
func (m *Metrics) CountPanic() { m.panics.Inc() }

// ObserveGRPC counts and times a call of a gRPC method that is seldom called.
func (m *Metrics) ObserveGRPC(method, code string, took time.Duration) {
	m.grpcRequests.WithLabelValues(method, code).Inc()
	ObserveDuration(m.grpcDuration.WithLabelValues(method), took)
	if m.reference != nil && method != "" {
		m.reference.method(method).observe(took)
	}
}

// Method holds the handles of a gRPC method that is often called.
type Method struct {
	codes     []prometheus.Counter
	duration  prometheus.Observer
	reference *referenceMethod // nil without METRICS_COMPAT
}

// Method makes the handles of a method; codes are the names of its status
// codes, by number.
func (m *Metrics) Method(name string, codes []string) *Method {
	h := &Method{duration: m.grpcDuration.WithLabelValues(name)}
	for _, code := range codes {
		h.codes = append(h.codes, m.grpcRequests.WithLabelValues(name, code))
	}
	if m.reference != nil {
		h.reference = m.reference.method(name)
	}
	return h
}

// Observe counts and times a call.
func (h *Method) Observe(code int, took time.Duration) {
	if code >= 0 && code < len(h.codes) {
		h.codes[code].Inc()
	}
	ObserveDuration(h.duration, took)
	if h.reference != nil {
		h.reference.observe(took)
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// histograms are native and classic at once: a scraper takes what it knows. The
// classic buckets lie around Envoy's 20 ms.
func (m *Metrics) histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help,
		Buckets:                         []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .015, .02, .05, .1, .25, 1},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}, labels)
	m.registry.MustRegister(v)
	return v
}

// ObserveDuration adds a time to a histogram of seconds.
func ObserveDuration(o prometheus.Observer, d time.Duration) { o.Observe(d.Seconds()) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
