package telemetry

import (
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// referenceMetrics are the metrics of envoyproxy/ratelimit under the names that
// its Prometheus mapping, and Envoy Gateway's, give them. What they count is
// meant as it is there. Mutable fields are guarded by Metrics.mu.
type referenceMetrics struct {
	totalHits, overLimit, nearLimit, withinLimit, shadowMode *prometheus.CounterVec

	errors      *prometheus.CounterVec
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	loadSuccess prometheus.Counter
	loadError   prometheus.Counter

	limits map[referenceName]*referenceLimit
}

// referenceName is what rules are called there: only the first two entries tell.
type referenceName struct{ domain, key1, key2 string }

// referenceLimit are the handles of all limits of one name.
type referenceLimit struct {
	totalHits, overLimit, nearLimit, withinLimit, shadowMode prometheus.Counter

	users int // limits in force
}

// ExportReference adds the metrics of envoyproxy/ratelimit to the registry. It
// is called before any handle is made.
func (m *Metrics) ExportReference() {
	r := &referenceMetrics{limits: map[referenceName]*referenceLimit{}}
	r.totalHits = m.referenceCounters("ratelimit_service_rate_limit_total_hits",
		"METRICS_COMPAT: hits that calls asked of the limits of a rule.", "domain", "key1", "key2")
	r.overLimit = m.referenceCounters("ratelimit_service_rate_limit_over_limit",
		"METRICS_COMPAT: hits of calls that were over the limit, also of shadow rules.", "domain", "key1", "key2")
	r.nearLimit = m.referenceCounters("ratelimit_service_rate_limit_near_limit",
		"METRICS_COMPAT: hits that were allowed above NEAR_LIMIT_RATIO of the limit.", "domain", "key1", "key2")
	r.withinLimit = m.referenceCounters("ratelimit_service_rate_limit_within_limit",
		"METRICS_COMPAT: hits that were allowed.", "domain", "key1", "key2")
	r.shadowMode = m.referenceCounters("ratelimit_service_rate_limit_shadow_mode",
		"METRICS_COMPAT: hits over the limit of a shadow rule.", "domain", "key1", "key2")
	r.errors = m.referenceCounters("ratelimit_service_should_rate_limit_error",
		"METRICS_COMPAT: calls that could not be decided: redis_error (the store) or service_error (anything else).", "err_type")
	r.requests = m.referenceCounters("ratelimit_service_total_requests",
		"METRICS_COMPAT: gRPC calls.", "grpc_method")
	r.duration = m.referenceHistograms("ratelimit_service_response_time_seconds",
		"METRICS_COMPAT: time to answer a gRPC call.", "grpc_method")
	r.loadSuccess = m.referenceCounter("ratelimit_service_config_load_success",
		"METRICS_COMPAT: loads of changed rules without an error.")
	r.loadError = m.referenceCounter("ratelimit_service_config_load_error",
		"METRICS_COMPAT: loads of changed rules with an error.")
	for _, kind := range []string{referenceStoreError, referenceServiceError} {
		r.errors.WithLabelValues(kind)
	}
	m.reference = r
}

const (
	referenceStoreError   = "redis_error"
	referenceServiceError = "service_error"
)

// CountReferenceError counts a call that could not be decided, because of the
// store or not. ExportReference has been called.
func (m *Metrics) CountReferenceError(ofStore bool) {
	kind := referenceServiceError
	if ofStore {
		kind = referenceStoreError
	}
	m.reference.errors.WithLabelValues(kind).Inc()
}

// ReferenceTally gives l, a limit of domain, the handles under
// envoyproxy/ratelimit's names, and returns what counts a decision with them:
// its hits, those of them near the limit, and whether they were over. shadow
// says that the rule itself is a shadow rule. levels are the entries of the rule,
// each as key or key_value; it has at least one. The result is nil without
// ExportReference.
func (m *Metrics) ReferenceTally(l *Limit, levels []string, shadow bool) func(hits, near uint64, over bool) {
	r := m.reference
	if r == nil {
		return nil
	}
	name := referenceName{domain: statKey(l.name.domain), key1: statKey(levels[0])}
	if len(levels) > 1 {
		name.key2 = statKey(levels[1])
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	handles := r.acquire(name)
	if l.reference != nil {
		r.release(*l.reference)
	}
	l.reference = &name
	return func(hits, near uint64, over bool) { handles.count(float64(hits), float64(near), over, shadow) }
}

func (r *referenceMetrics) acquire(name referenceName) *referenceLimit {
	h := r.limits[name]
	if h == nil {
		labels := []string{name.domain, name.key1, name.key2}
		h = &referenceLimit{
			totalHits:   r.totalHits.WithLabelValues(labels...),
			overLimit:   r.overLimit.WithLabelValues(labels...),
			nearLimit:   r.nearLimit.WithLabelValues(labels...),
			withinLimit: r.withinLimit.WithLabelValues(labels...),
			shadowMode:  r.shadowMode.WithLabelValues(labels...),
		}
		r.limits[name] = h
	}
	h.users++
	return h
}

// release deletes the series of a name with its last limit.
func (r *referenceMetrics) release(name referenceName) {
	h := r.limits[name]
	if h.users--; h.users > 0 {
		return
	}
	delete(r.limits, name)
	for _, family := range []*prometheus.CounterVec{r.totalHits, r.overLimit, r.nearLimit, r.withinLimit, r.shadowMode} {
		family.DeleteLabelValues(name.domain, name.key1, name.key2)
	}
}

func (h *referenceLimit) count(hits, near float64, over, shadow bool) {
	h.totalHits.Add(hits)
	switch {
	case !over:
		h.withinLimit.Add(hits)
		h.nearLimit.Add(near)
	case shadow:
		h.shadowMode.Add(hits)
		fallthrough
	default:
		h.overLimit.Add(hits)
	}
}

func (r *referenceMetrics) load(result ReloadResult) {
	if result == ReloadSuccess {
		r.loadSuccess.Inc()
		return
	}
	r.loadError.Inc()
}

// referenceMethod are the handles of a gRPC method.
type referenceMethod struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// method makes the handles of a gRPC method, given by its full name.
func (r *referenceMetrics) method(full string) *referenceMethod {
	name := full[strings.LastIndexByte(full, '/')+1:]
	return &referenceMethod{r.requests.WithLabelValues(name), r.duration.WithLabelValues(name)}
}

func (h *referenceMethod) observe(took time.Duration) {
	h.requests.Inc()
	ObserveDuration(h.duration, took)
}

// statKey is a part of a name as envoyproxy/ratelimit writes it: what statsd
// would read as syntax is _, and so are the dots of IPv4 addresses.
func statKey(text string) string {
	text = statSyntax.Replace(printable(text))
	return ipv4.ReplaceAllStringFunc(text, func(address string) string { return strings.ReplaceAll(address, ".", "_") })
}

var (
	statSyntax = strings.NewReplacer(":", "_", "|", "_")
	ipv4       = regexp.MustCompile(`\d{1,3}(\.\d{1,3}){3}`)
)

func (m *Metrics) referenceCounter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) referenceCounters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) referenceHistograms(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.DefBuckets}, labels)
	m.registry.MustRegister(v)
	return v
}
