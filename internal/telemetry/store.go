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
			"Time of an operation of the store: decide is what callers waited, round_trip what the store took.", "store", "op"),
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
		read: func(emit func(i int, kind prometheus.ValueType, v float64, labels ...string)) {
			s := read()
			emit(0, prometheus.GaugeValue, float64(s.Buckets))
			emit(1, prometheus.CounterValue, float64(s.Evictions))
		},
	})
}

// RedisStats are the numbers of the store on Redis. Counters only grow.
type RedisStats struct {
	Connections, Busy int // those that there may be, and those that work
	Queued            int // calls that wait for a connection
	Dials             uint64
	ScriptReloads     uint64
	Foreign           uint64
	BreakerOpens      uint64
	BreakerOpen       bool
}

// WatchRedis reads the store's numbers at every scrape.
func (m *Metrics) WatchRedis(read func() RedisStats) {
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{
			desc("redis_pool_connections", "Connections to Redis.", "state"),
			desc("redis_queued_calls", "Calls that wait for a connection."),
			desc("redis_dials_total", "Connections opened."),
			desc("store_script_reloads_total", "How often a Redis lacked the script and got it again."),
			desc("redis_foreign_values_total", "Values replaced that were no state of a bucket."),
			desc("redis_breaker_opens_total", "How often Redis was given up for the moment."),
			desc("redis_breaker_open", "1 while calls are decided by policy without asking Redis."),
		},
		read: func(emit func(i int, kind prometheus.ValueType, v float64, labels ...string)) {
			s := read()
			emit(0, prometheus.GaugeValue, float64(s.Connections-s.Busy), "idle")
			emit(0, prometheus.GaugeValue, float64(s.Busy), "busy")
			emit(1, prometheus.GaugeValue, float64(s.Queued))
			emit(2, prometheus.CounterValue, float64(s.Dials))
			emit(3, prometheus.CounterValue, float64(s.ScriptReloads))
			emit(4, prometheus.CounterValue, float64(s.Foreign))
			emit(5, prometheus.CounterValue, float64(s.BreakerOpens))
			emit(6, prometheus.GaugeValue, number(s.BreakerOpen))
		},
	})
}

// snapshot is a collector of numbers that are kept elsewhere.
type snapshot struct {
	descs []*prometheus.Desc
	read  func(emit func(i int, kind prometheus.ValueType, v float64, labels ...string))
}

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
