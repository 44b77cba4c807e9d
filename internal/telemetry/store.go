package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

type storeMetrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
}

func newStoreMetrics(m *Metrics) storeMetrics {
	return storeMetrics{
		duration: m.histograms("store_operation_duration_seconds",
			"Time of an operation of the store: decide is what callers waited, queue what the first call of a round trip waited for a connection, round_trip what the store took.", "store", "op"),
		errors: m.counters("store_errors_total",
			"Calls that the store could not decide, by why.", "store", "reason"),
	}
}

// StoreDuration is where operations of a store are timed.
func (m *Metrics) StoreDuration(store, op string) prometheus.Observer {
	return m.store.duration.WithLabelValues(store, op)
}

// CountStoreError counts a call that a store could not decide. Reasons are few
// and fixed.
func (m *Metrics) CountStoreError(store, reason string) {
	m.store.errors.WithLabelValues(store, reason).Inc()
}

// MemoryStats are the numbers of the embedded store.
type MemoryStats struct {
	Buckets   int
	Evictions uint64
}

// WatchMemory reads the embedded store's numbers at every scrape.
func (m *Metrics) WatchMemory(read func() MemoryStats) {
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{
			desc("memory_buckets", "Buckets in the embedded store."),
			desc("memory_evictions_total", "Buckets dropped because MEMORY_MAX_BUCKETS was reached."),
		},
		read: func(emit emitter) {
			s := read()
			emit(0, prometheus.GaugeValue, float64(s.Buckets))
			emit(1, prometheus.CounterValue, float64(s.Evictions))
		},
	})
}

// WatchDenyCache reads at every scrape how many calls were denied without asking
// Redis.
func (m *Metrics) WatchDenyCache(hits func() uint64) {
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{
			desc("deny_cache_hits_total", "Calls denied without the store, because it had just denied as much."),
		},
		read: func(emit emitter) { emit(0, prometheus.CounterValue, float64(hits())) },
	})
}

// snapshot is a collector of numbers that are kept elsewhere.
type snapshot struct {
	descs []*prometheus.Desc
	read  func(emitter)
}

// emitter takes a number of the desc at i, with the values of its labels.
type emitter func(i int, kind prometheus.ValueType, v float64, labels ...string)

func (s *snapshot) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

func (s *snapshot) Collect(ch chan<- prometheus.Metric) {
	s.read(func(i int, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(s.descs[i], kind, v, labels...)
	})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}
