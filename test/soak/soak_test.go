package soak

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/bench"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

const (
	rate     = 200 // hits a second that each limit allows
	offered  = 600 // calls a second on each limit
	warmup   = 2 * time.Second
	shortest = 20 * time.Second
)

// rules have a limit of each algorithm, and one of whose many buckets none lasts.
func rules() string {
	var b strings.Builder
	b.WriteString("domain: soak\ndescriptors:\n- {key: user, rate_limit: {unit: second, requests_per_unit: 1}}\n")
	for _, a := range buckets.Algorithms() {
		burst := ""
		if a.HasBurst() {
			burst = ", burst: 100"
		}
		fmt.Fprintf(&b, "- {key: %v, rate_limit: {unit: second, requests_per_unit: %d, algorithm: %v%s}}\n", a, rate, a, burst)
	}
	return b.String()
}

func TestSoak(t *testing.T) {
	t.Parallel()
	duration := shortest
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration < shortest {
			t.Fatalf("SOAK=%s: want a duration from %v on", text, shortest)
		}
	}
	for _, store := range []string{"memory", "redis"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, store, rules())
			soak(t, s, duration)
		})
	}
}

// soak loads every limit at once, from the middle of a second on, so that the
// windows of a second that are counted are whole ones.
func soak(t *testing.T, s *server, duration time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), warmup+duration+time.Minute)
	defer cancel()
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(1500 * time.Millisecond).Sub(now))
	type outcome struct {
		result *bench.Result
		err    error
	}
	outcomes := map[string]chan outcome{}
	load := func(key string, keys int) {
		done := make(chan outcome, 1)
		outcomes[key] = done
		go func() {
			r, err := bench.Run(ctx, bench.Config{
				Addr: s.addr, Domain: "soak", Descriptors: []string{key}, Keys: keys, Exponent: 0,
				Connections: 1, Rate: offered, Warmup: warmup, Duration: duration, Timeout: 5 * time.Second, Seed: 1,
			})
			done <- outcome{r, err}
		}()
	}
	for _, a := range buckets.Algorithms() {
		load(a.String(), 1)
	}
	load("user", 100_000)
	stalled := watchStalls(ctx)
	memory := s.watchMemory(t, warmup+duration)
	for key, done := range outcomes {
		o := <-done
		if o.err != nil {
			t.Fatalf("%s: %v", key, o.err)
		}
		if len(o.result.Failed) > 0 {
			t.Errorf("%s: calls failed: %v", key, o.result.Failed)
		}
		if key != "user" {
			wantRate(t, key, o.result, stalled())
		}
	}
	wantFlat(t, memory)
}

// wantRate holds what was allowed to 1 % of the rate. What the machine did not send
// while it stood still could not be allowed.
func wantRate(t *testing.T, key string, r *bench.Result, stalled time.Duration) {
	t.Helper()
	should := rate * r.Seconds
	least, most := should*0.99-rate*stalled.Seconds(), should*1.01
	t.Logf("%s: allowed %d of %d in %.2f s, %.2f %% off its rate", key, r.Allowed, r.Calls, r.Seconds, 100*(float64(r.Allowed)/should-1))
	if got := float64(r.Allowed); got < least || got > most {
		t.Errorf("%s: allowed %d, want %d to %d (stalled %v)", key, r.Allowed, int(math.Ceil(least)), int(most), stalled)
	}
}

// wantFlat compares the second quarter of what a process held with the last.
func wantFlat(t *testing.T, samples []uint64) {
	t.Helper()
	median := func(part []uint64) uint64 {
		part = slices.Clone(part)
		slices.Sort(part)
		return part[len(part)/2]
	}
	n := len(samples)
	early, late := median(samples[n/4:n/2]), median(samples[3*n/4:])
	t.Logf("memory: %d KiB early, %d KiB late", early>>10, late>>10)
	if late > early+early/10+8<<20 {
		t.Errorf("memory grows: %d KiB early, %d KiB late", early>>10, late>>10)
	}
}

// watchStalls adds up for how long this process did not run when it should have.
func watchStalls(ctx context.Context) func() time.Duration {
	const tick, usual = 5 * time.Millisecond, 20 * time.Millisecond
	gaps := make(chan time.Duration, 1)
	gaps <- 0
	go func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if gap := time.Since(last); gap > usual {
				gaps <- <-gaps + gap
			}
			last = time.Now()
		}
	}()
	return func() time.Duration {
		total := <-gaps
		gaps <- total
		return total
	}
}
