package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/xdssource"
)

// opened is a store in use.
type opened struct {
	buckets.Store
	// health tells why the store does not answer now; nil if it always does.
	health func() error
	// breaking tells whether calls are answered without the store, which has failed;
	// nil if there is no breaker.
	breaking func() bool
	tasks    []func(context.Context) error
}

// openers has a row for each kind of store.
var openers = map[string]func(settings.Store, *telemetry.Metrics, *slog.Logger) (*opened, error){
	settings.Memory:        openMemory,
	settings.Redis:         openRedis,
	settings.RedisSentinel: openRedis,
	settings.RedisCluster:  openRedis,
}

// openStore opens the store that the settings name. It does not wait for it to
// answer.
func openStore(s settings.Store, m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	store, err := openers[s.Target.Kind](s, m, log)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", s.Target, err)
	}
	return store, nil
}

func openMemory(s settings.Store, m *telemetry.Metrics, _ *slog.Logger) (*opened, error) {
	store := memstore.New(memstore.Options{MaxBuckets: s.MaxBuckets})
	m.WatchMemory(func() telemetry.MemoryStats {
		return telemetry.MemoryStats{Buckets: store.Len(), Evictions: store.Evictions()}
	})
	return &opened{Store: newTimedStore(store, settings.Memory, m)}, nil
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

// openSource makes the rule source that the settings name.
func openSource(r settings.Rules, log *slog.Logger) source {
	files := filesource.New(r.Paths, 0)
	if !r.FromXDS {
		return files
	}
	return openXDS(r.XDS, files, log)
}

// openXDS makes the source of rules from a control plane, whose defaults are in
// files.
func openXDS(x settings.XDS, defaults descriptors.Source, log *slog.Logger) source {
	o := xdssource.Options{
		Server:          x.Server,
		NodeID:          x.NodeID,
		NodeMetadata:    x.NodeMetadata,
		Headers:         x.Headers,
		MaxMessageBytes: x.MaxMessageBytes,
		Backoff:         xdssource.Backoff{Connect: x.ConnectRetry, Initial: x.BackoffInitial, Max: x.BackoffMax, Random: x.BackoffRandom},
		Defaults:        defaults,
		Log:             log,
	}
	if x.UseTLS {
		o.TLS = &xdssource.TLS{CAFile: x.CAFile, CertFile: x.CertFile, KeyFile: x.KeyFile, SAN: x.SAN}
	}
	return xdssource.New(o)
}
