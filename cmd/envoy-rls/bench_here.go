package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/bench"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

// benchHere measures what the server does with a call beside gRPC: decode, match,
// decide, count, encode.
func (c *console) benchHere(ctx context.Context, f *benchFlags, config bench.Config) (*bench.Result, error) {
	rules, err := f.rules()
	if err != nil {
		return nil, err
	}
	set, problems := descriptors.Compile([]descriptors.File{{Name: "bench", Data: []byte(rules)}}, nil, descriptors.Options{})
	if len(problems) > 0 {
		return nil, &settings.UsageError{Text: problems[0].Message, Hint: "another --check, --domain or --descriptors"}
	}
	s, _, err := settings.Load(settings.Input{
		Args: []string{"--store=" + f.store, "--store-timeout=900ms"}, Exists: func(string) bool { return false },
	})
	if err != nil {
		return nil, err
	}
	log := telemetry.NewLog(c.stderr, s.Log.Format, s.Log.Level)
	metrics := newMetrics(s.Metrics)
	store, err := openStore(s.Store, metrics, log)
	if err != nil {
		return nil, err
	}
	local := openLocal(s.Store)
	defer store.Close()
	defer local.Close()
	limiter := rls.NewLimiter(limiterOptions(s, store, local, metrics, log))
	limiter.Install(set)
	if err := awaitStore(ctx, store); err != nil {
		return nil, err
	}
	return bench.RunInProcess(ctx, config, func() bench.Answer {
		var req rls.Request
		var ans rls.Answer
		return func(ctx context.Context, dst, request []byte) ([]byte, error) {
			req.Reset()
			if err := wire.DecodeRequest(request, &req); err != nil {
				return nil, err
			}
			if err := limiter.Decide(ctx, &req, &ans); err != nil {
				return nil, err
			}
			return wire.AppendAnswer(dst, &ans), nil
		}
	})
}

// rules limit each key of a call in the same way.
func (f *benchFlags) rules() (string, error) {
	algorithm, known := buckets.ParseAlgorithm(f.algorithm)
	if !known {
		return "", &settings.UsageError{Text: fmt.Sprintf("--algorithm=%s: want one of %v", f.algorithm, buckets.Algorithms())}
	}
	bound := f.config.Bound
	if bound == nil {
		bound = &bench.Bound{Algorithm: algorithm, Amount: 1_000_000, Burst: 1_000_000, Window: time.Second}
		if algorithm == buckets.SlidingWindowLog {
			bound.Amount = buckets.MaxLogAmount
		}
	}
	if bound.Window%time.Second != 0 {
		return "", &settings.UsageError{Text: fmt.Sprintf("--check: a window of %v is not of whole seconds", bound.Window)}
	}
	burst := ""
	if bound.Algorithm.HasBurst() {
		burst = fmt.Sprintf(", burst: %d", bound.Burst)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "domain: %q\ndescriptors:\n", f.config.Domain)
	for _, key := range f.config.Descriptors {
		fmt.Fprintf(&b, "- {key: %q, rate_limit: {unit: second, unit_multiplier: %d, requests_per_unit: %d, algorithm: %v%s}}\n",
			key, bound.Window/time.Second, bound.Amount, bound.Algorithm, burst)
	}
	return b.String(), nil
}

// awaitStore waits until the store has answered once.
func awaitStore(ctx context.Context, store *opened) error {
	if store.health == nil {
		return nil
	}
	deadline := time.Now().Add(startsWithin)
	for err := store.health(); err != nil; err = store.health() {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("the store does not answer: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}
