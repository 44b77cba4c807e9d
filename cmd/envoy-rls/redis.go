package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/denied"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/spread"
)

// Names of the stores on Redis in metrics and logs.
const (
	redisName     = "redis"
	perSecondName = "redis_per_second"
)

// redisKinds are the topologies by the kind of target.
var redisKinds = map[string]redisstore.Kind{
	settings.Redis:         redisstore.Single,
	settings.RedisSentinel: redisstore.Sentinel,
	settings.RedisCluster:  redisstore.Cluster,
}

// openRedis opens the store on Redis, and a second one if limits per second are
// to have it.
func openRedis(s settings.Store, m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	if !s.DenyCache {
		return openPlaces(s, nil, m, log)
	}
	memory := denied.NewMemory()
	o, err := openPlaces(s, memory.Forget, m, log)
	if err != nil {
		return nil, err
	}
	cache := denied.New(o.Store, memory)
	o.Store = cache
	m.WatchDenyCache(cache.Answered)
	return o, nil
}

// openPlaces opens the one store, or both. returned is told of give-backs.
func openPlaces(s settings.Store, returned func(key []byte), m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	open := func(p *settings.Place, name string) (*opened, error) {
		opt := redisOptions(p)
		opt.CallByCall, opt.Returned = !s.Batch, returned
		return openPlace(opt, name, m, log.With("store", name))
	}
	first, err := open(&s.Place, redisName)
	if err != nil || s.PerSecond == nil {
		return first, err
	}
	second, err := open(s.PerSecond, perSecondName)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the store of limits per second, %s: %w", s.PerSecond.Target, err), first.Close())
	}
	pair := spread.NewPair(first.Store, second.Store, returned)
	m.WatchGiveBacks(telemetry.BothStores, func() telemetry.GiveBacks {
		return telemetry.GiveBacks{Delivered: pair.Delivered(), Lost: pair.Lost()}
	})
	return &opened{
		Store: pair,
		health: func() error {
			if err := second.health(); err != nil {
				return fmt.Errorf("limits per second: %w", err)
			}
			return first.health()
		},
		breaking: func() bool { return first.breaking() || second.breaking() },
		tasks:    append(first.tasks, second.tasks...),
	}, nil
}

// openPlace opens one store on Redis, under a name in metrics.
func openPlace(opt redisstore.Options, name string, m *telemetry.Metrics, log *slog.Logger) (*opened, error) {
	roundTrip, queue := m.StoreDuration(name, "round_trip"), m.StoreDuration(name, "queue")
	opt.Logger = log
	opt.Observe = func(r redisstore.RoundTrip) {
		telemetry.ObserveDuration(queue, r.Waited)
		telemetry.ObserveDuration(roundTrip, r.Took)
	}
	store, err := redisstore.New(opt)
	if err != nil {
		return nil, err
	}
	m.WatchRedis(name, func() telemetry.RedisStats { return redisStats(store.Stats()) })
	m.WatchGiveBacks(name, func() telemetry.GiveBacks {
		s := store.Stats()
		return telemetry.GiveBacks{Delivered: s.GivenBack, Lost: s.GiveBacksLost}
	})
	health := func() error {
		if store.Healthy() {
			return nil
		}
		return errStoreSilent
	}
	advise := func(ctx context.Context) error { return advise(ctx, store.Answered, store.Advice, log) }
	breaking := func() bool { return store.Stats().BreakersOpen > 0 }
	return &opened{Store: newTimedStore(store, name, m), health: health, breaking: breaking, tasks: []func(context.Context) error{advise}}, nil
}

func redisOptions(p *settings.Place) redisstore.Options {
	t := &p.Target
	opt := redisstore.Options{
		Kind:                redisKinds[t.Kind],
		Addrs:               t.Addrs,
		Network:             t.Network,
		Master:              t.Master,
		DB:                  t.DB,
		Credentials:         redisstore.Password(t.Username, t.Password),
		SentinelCredentials: redisstore.Password(t.SentinelUsername, t.SentinelPassword),
		IOTimeout:           p.IOTimeout,
		Lanes:               p.PoolSize,
	}
	if p.AuthFile != "" {
		opt.Credentials = func() (user, password string, err error) { return readAuth(p.AuthFile, t.Username) }
	}
	if t.TLS {
		opt.TLS = &redisstore.TLS{
			CAFile: p.TLS.CAFile, CertFile: p.TLS.CertFile, KeyFile: p.TLS.KeyFile,
			SkipHostname: p.TLS.SkipHostname, SkipVerify: p.TLS.SkipVerify,
		}
	}
	return opt
}

// readAuth reads password or user:password from a file; user is that of the
// settings, for a file that names none.
func readAuth(file, user string) (string, string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("password of Redis: %w", err)
	}
	named, password := settings.ParseAuth(strings.TrimRight(string(text), "\r\n"))
	if password == "" {
		return "", "", fmt.Errorf("password of Redis: %s is empty: want password, or user:password", file)
	}
	if named != "" {
		user = named
	}
	return user, password, nil
}

func redisStats(s redisstore.Stats) telemetry.RedisStats {
	return telemetry.RedisStats{
		Connections: s.Lanes, Busy: s.BusyLanes, Queued: s.Queued, Dials: s.Dials,
		Servers: s.Servers, NotAsked: s.BreakersOpen, BreakerOpens: s.BreakerOpens,
		ScriptReloads: s.ScriptReloads, Foreign: s.Foreign,
	}
}

// adviceAfter is when a store that has not answered is looked at nonetheless: it
// may be of another kind than the settings say.
const adviceAfter = 5 * time.Second

// advise logs once what is odd about the servers of a store: when they have
// answered, and before that if it takes them long.
func advise(ctx context.Context, answered func() bool, advice func(context.Context) []string, log *slog.Logger) error {
	said := map[string]bool{}
	say := func() {
		for _, line := range advice(ctx) {
			if !said[line] {
				log.Warn(line)
			}
			said[line] = true
		}
	}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	early := time.After(adviceAfter)
	for !answered() {
		select {
		case <-ctx.Done():
			return nil
		case <-early:
			say()
		case <-ticks.C:
		}
	}
	say()
	<-ctx.Done()
	return nil
}
