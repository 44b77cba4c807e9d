package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
)

// opened is a store in use.
type opened struct {
	buckets.Store
	name string // in metrics
	// healthy tells whether the store answers now; nil if it always does.
	healthy func() bool
}

// openers has a row for each kind of store.
var openers = map[string]func(settings.Store, *telemetry.Metrics, *slog.Logger) (*opened, error){
	settings.Memory: openMemory,
	settings.Redis:  openRedis,
}

// openStore opens the store that the settings name. It does not wait for it to
// answer.
func openStore(s settings.Store, m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	open := openers[s.Target.Kind]
	if open == nil {
		return nil, &settings.UsageError{
			Text: fmt.Sprintf("not supported yet: the store %s", s.Target),
			Hint: "use one Redis (redis:// or unix://), or memory://",
		}
	}
	store, err := open(s, m, log)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", s.Target, err)
	}
	store.Store = newTimedStore(store.Store, store.name, m)
	return store, nil
}

func openMemory(s settings.Store, m *telemetry.Metrics, _ *slog.Logger) (*opened, error) {
	store := memstore.New(memstore.Options{MaxBuckets: s.MaxBuckets})
	m.WatchMemory(func() telemetry.MemoryStats {
		return telemetry.MemoryStats{Buckets: store.Len(), Evictions: store.Evictions()}
	})
	return &opened{Store: store, name: settings.Memory}, nil
}

func openRedis(s settings.Store, m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	roundTrip := m.StoreDuration(settings.Redis, "round_trip")
	t := s.Target
	store, err := redisstore.New(redisstore.Options{
		Network:   t.Network,
		Addr:      t.Addrs[0],
		Username:  t.Username,
		Password:  t.Password,
		DB:        t.DB,
		IOTimeout: s.IOTimeout,
		Lanes:     s.PoolSize,
		Logger:    log,
		Observe: func(elapsed time.Duration, _ int, _ string) {
			telemetry.ObserveDuration(roundTrip, elapsed)
		},
	})
	if err != nil {
		return nil, err
	}
	m.WatchRedis(func() telemetry.RedisStats {
		s := store.Stats()
		return telemetry.RedisStats{
			Connections: s.Lanes, Busy: s.BusyLanes, Queued: s.Queued, Dials: s.Dials,
			ScriptReloads: s.ScriptReloads, Foreign: s.Foreign,
			BreakerOpens: s.BreakerOpens, BreakerOpen: s.BreakerOpen,
		}
	})
	return &opened{Store: store, name: settings.Redis, healthy: store.Healthy}, nil
}

// openLocal makes the store of limits with on_store_error: local.
func openLocal(s settings.Store) buckets.Store {
	return memstore.New(memstore.Options{MaxBuckets: s.MaxBuckets})
}

// source is a rule source that can be told to look again.
type source interface {
	descriptors.Source
	Reload()
}

// openSource makes the rule source that the settings name: there is one kind.
func openSource(r settings.Rules) source { return filesource.New(r.Paths, 0) }
