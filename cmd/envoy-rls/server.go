package main

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/envoy-rls/envoy-rls/internal/admin"
	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// newServer puts all parts together. Nothing listens yet.
func newServer(s *settings.Settings, log *slog.Logger, level *slog.LevelVar) (*lifecycle.Server, error) {
	metrics := newMetrics(s.Metrics)
	store, err := openStore(s.Store, metrics, log)
	if err != nil {
		return nil, err
	}
	local := openLocal(s.Store)
	deciding := limiterOptions(s, store, local, metrics, log)
	limiter := rls.NewLimiter(deciding)
	explainer := &explain.Explainer{Limiter: limiter, Keyer: deciding.Keyer}
	fallback := explainLocal(deciding, local)
	decider := countErrors(limiter, s.Metrics, metrics)
	serving := service.Options{
		Decider:               decider,
		Observer:              newCallMetrics(metrics),
		Logger:                log,
		MaxConnectionAge:      s.GRPC.MaxConnectionAge,
		MaxConnectionAgeGrace: s.GRPC.MaxConnectionAgeGrace,
		StreamWorkers:         streamWorkers,
	}
	certificates, err := openCertificates(s.TLS, &serving, log)
	if err != nil {
		return nil, errors.Join(err, store.Close(), local.Close())
	}
	endTracing, err := trace(&serving, s.Tracing, log)
	if err != nil {
		return nil, errors.Join(err, store.Close(), local.Close())
	}
	grpc := service.NewServer(serving)
	policy := lifecycle.Policy{WithoutRules: s.Rules.StartWithout, WhileStore: s.Life.NeedStore}
	health := lifecycle.NewHealth(policy, func(ready bool) {
		log.Info("readiness changed", "ready", ready)
		metrics.SetReady(ready)
		grpc.SetServing(ready)
	})
	install := func(set *descriptors.Ruleset) {
		warnOfHashKey(log, s, set)
		limiter.Install(set)
		fallback.Limiter.Install(set)
	}
	installer := &installer{install: install, health: health, metrics: metrics, log: log}
	rules := openSource(s.Rules, log)
	watching := &watching{settings: s, store: store, installer: installer, explainer: explainer, local: fallback, reload: rules.Reload, level: level, log: log}
	loader := descriptors.NewLoader(rules, ruleOptions(s))
	server := &lifecycle.Server{
		Ports:           append([]lifecycle.Port{grpcPort(s, grpc)}, httpPorts(s, decider, watching, health, metrics, log)...),
		Closers:         []func() error{store.Close, local.Close, func() error { endTracing(); return nil }},
		Health:          health,
		Log:             log,
		Reload:          rules.Reload,
		DrainDelay:      s.Life.DrainDelay,
		ShutdownTimeout: s.Life.ShutdownTimeout,
		Tasks: []lifecycle.Task{{Name: "rules", Run: func(ctx context.Context) error {
			return loader.Run(ctx, installer.apply)
		}}},
	}
	server.Tasks = append(server.Tasks, storeTasks(store, health)...)
	server.Tasks = append(server.Tasks, secure(server.Ports, certificates)...)
	return server, nil
}

// storeTasks are what the store runs beside calls. A store in this process always
// answers.
func storeTasks(store *opened, health *lifecycle.Health) []lifecycle.Task {
	if store.health == nil {
		health.SetStore(nil)
	} else {
		store.tasks = append(store.tasks, func(ctx context.Context) error { return watch(ctx, store.health, health.SetStore) })
	}
	var tasks []lifecycle.Task
	for _, run := range store.tasks {
		tasks = append(tasks, lifecycle.Task{Name: "store", Run: run})
	}
	return tasks
}

func limiterOptions(s *settings.Settings, store, local buckets.Store, m *telemetry.Metrics, log *slog.Logger) rls.Options {
	return rls.Options{
		Store:     store,
		Local:     local,
		Keyer:     buckets.Keyer{Prefix: s.Store.KeyPrefix, HashKey: hashKey(s)},
		Budget:    s.Store.Timeout,
		Replicas:  s.Store.Replicas,
		Reference: s.Rules.Profile == settings.Ratelimit,
		Shadow:    s.Answer.Shadow,
		Quota:     s.Answer.Quota,
		Headers: rls.HeaderOptions{
			RateLimit:  has(s.Answer.Headers, "ratelimit"),
			XRateLimit: has(s.Answer.Headers, "x-ratelimit"),
			Rule:       has(s.Answer.Headers, "rule"),
			Limit:      s.Answer.LimitHeader,
			Remaining:  s.Answer.RemainingHeader,
			Reset:      s.Answer.ResetHeader,
		},
		Metadata:       s.Answer.DynamicMetadata,
		NearLimitRatio: uint64(math.Round(s.Answer.NearLimitRatio * 1_000_000)),
		Metrics:        decisionMetrics{m, s.Answer.Shadow},
		Logger:         log,
	}
}

// ruleOptions are what rules mean where they say nothing.
func ruleOptions(s *settings.Settings) descriptors.Options {
	o := descriptors.Options{
		Algorithm:    s.Rules.Algorithm,
		OnStoreError: s.Rules.OnStoreError,
		Strict:       s.Rules.Strict,
	}
	if s.Rules.Profile == settings.Ratelimit {
		o.DeniedHits, o.Unbounded = descriptors.DeniedCharged, true
	}
	if s.Rules.DeniedFree {
		o.DeniedHits = descriptors.DeniedFree
	}
	return o
}

func grpcPort(s *settings.Settings, server *service.Server) lifecycle.Port {
	p := lifecycle.Port{
		Name: "gRPC", Network: "tcp", Addr: s.GRPC.Addr.String(), Protocol: lifecycle.GRPC, TLS: s.TLS.GRPC,
		Serve: server.Serve, Stop: server.Stop,
	}
	if s.GRPC.UDS != "" {
		p.Network, p.Addr, p.Mode = "unix", s.GRPC.UDS, s.GRPC.UDSMode
	}
	return p
}

// httpPorts are the public one, the debug port and the metrics. The latter two
// end last.
func httpPorts(s *settings.Settings, decider service.Decider, watching *watching, health *lifecycle.Health, m *telemetry.Metrics, log *slog.Logger) []lifecycle.Port {
	public := admin.NewServer(admin.Public(admin.JSONHandler(decider, log), health.Report), log)
	debug := admin.NewDebugServer(admin.Debug(watching.explainer.Limiter.Ruleset, watching.api(health).Handler(), s.Admin.Token), log)
	metrics := admin.NewServer(admin.Metrics(s.Metrics.Path, m.Handler(log)), log)
	return []lifecycle.Port{
		{Name: "HTTP", Network: "tcp", Addr: s.HTTP.String(), TLS: s.TLS.HTTP, Serve: public.Serve, Stop: public.Stop},
		{Name: "debug", Network: "tcp", Addr: s.Debug.String(), TLS: s.TLS.HTTP, Serve: debug.Serve, Stop: debug.Stop, Late: true},
		{Name: "metrics", Network: "tcp", Addr: s.Metrics.Addr, TLS: s.TLS.HTTP, Serve: metrics.Serve, Stop: metrics.Stop, Late: true},
	}
}
