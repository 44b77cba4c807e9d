package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// RedisStats are the numbers of a store on Redis. Counters only grow.
type RedisStats struct {
	Connections, Busy int // those that there may be, and those that work
	Queued            int // calls that wait for a connection
	Servers, NotAsked int // those in use, and those whose breaker is open
	Dials             uint64
	ScriptReloads     uint64
	Foreign           uint64
	BreakerOpens      uint64
}

// GiveBacks are charges of denied calls that were given back, and that could not
// be. They only grow.
type GiveBacks struct{ Delivered, Lost uint64 }

// BothStores is the label store of what lies between the two of REDIS_PERSECOND.
const BothStores = "both"

// WatchRedis reads a store's numbers at every scrape.
func (m *Metrics) WatchRedis(store string, read func() RedisStats) {
	if !m.redis.add(store, read) {
		return
	}
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{
			desc("redis_pool_connections", "Connections to Redis.", "store", "state"),
			desc("redis_queued_calls", "Calls that wait for a connection.", "store"),
			desc("redis_servers", "Servers in use.", "store"),
			desc("redis_breaker_open", "Servers that are not asked, because they failed: policy decides in their stead.", "store"),
			desc("redis_breaker_opens_total", "How often a server was given up for the moment.", "store"),
			desc("redis_dials_total", "Connections opened.", "store"),
			desc("redis_foreign_values_total", "Values replaced that were no state of a bucket.", "store"),
			desc("store_script_reloads_total", "How often a Redis lacked the script and got it again.", "store"),
		},
		read: func(emit emitter) {
			m.redis.each(func(store string, s RedisStats) {
				emit(0, prometheus.GaugeValue, float64(s.Connections-s.Busy), store, "idle")
				emit(0, prometheus.GaugeValue, float64(s.Busy), store, "busy")
				emit(1, prometheus.GaugeValue, float64(s.Queued), store)
				emit(2, prometheus.GaugeValue, float64(s.Servers), store)
				emit(3, prometheus.GaugeValue, float64(s.NotAsked), store)
				emit(4, prometheus.CounterValue, float64(s.BreakerOpens), store)
				emit(5, prometheus.CounterValue, float64(s.Dials), store)
				emit(6, prometheus.CounterValue, float64(s.Foreign), store)
				emit(7, prometheus.CounterValue, float64(s.ScriptReloads), store)
			})
		},
	})
}

// WatchGiveBacks reads the give-backs of a store, or of BothStores, at every
// scrape.
func (m *Metrics) WatchGiveBacks(store string, read func() GiveBacks) {
	if !m.giveBacks.add(store, read) {
		return
	}
	m.registry.MustRegister(&snapshot{
		descs: []*prometheus.Desc{
			desc("store_give_backs_total", "Charges of denied calls given back to other slots or stores: delivered, or lost, which stay charged.", "store", "result"),
		},
		read: func(emit emitter) {
			m.giveBacks.each(func(store string, g GiveBacks) {
				emit(0, prometheus.CounterValue, float64(g.Delivered), store, "delivered")
				emit(0, prometheus.CounterValue, float64(g.Lost), store, "lost")
			})
		},
	})
}

// watched are sources of the same numbers, by store. The zero value is ready; it
// is safe for concurrent use.
type watched[T any] struct {
	mu      sync.Mutex
	sources []source[T]
}

type source[T any] struct {
	store string
	read  func() T
}

// add adds a source and tells whether it is the first.
func (w *watched[T]) add(store string, read func() T) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sources = append(w.sources, source[T]{store, read})
	return len(w.sources) == 1
}

// each reads all sources.
func (w *watched[T]) each(f func(store string, numbers T)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sources {
		f(s.store, s.read())
	}
}
