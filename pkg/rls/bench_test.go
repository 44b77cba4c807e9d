package rls_test

import (
	"context"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

const benchRules = `
domain: d
descriptors:
- {key: user, rate_limit: {unit: second, requests_per_unit: 4000000000}}
- {key: path, value: /login, rate_limit: {unit: minute, requests_per_unit: 4000000000, algorithm: fixed_window}}
- {key: ip, rate_limits: [{unit: second, requests_per_unit: 4000000000}, {unit: day, requests_per_unit: 4000000000, algorithm: sliding_window_counter}]}
- key: tenant
  descriptors: [{key: user, rate_limit: {unit: second, requests_per_unit: 1000000, algorithm: gcra}}]
- {key: full, rate_limit: {unit: year, requests_per_unit: 1}}
- {key: zero, rate_limit: {unit: second, requests_per_unit: 0}}
- {key: free, rate_limit: {unlimited: true}}
`

// wallClocked has the limiter of a server: real time, no store in between.
func wallClocked(t testing.TB, adjust func(*rls.Options, *descriptors.Options)) *world {
	w := newWorld(t, benchRules, nil)
	w.opt.Store, w.opt.Local, w.opt.Now = w.store, w.local, nil
	if adjust != nil {
		adjust(&w.opt, &w.rules)
	}
	w.Limiter = rls.NewLimiter(w.opt)
	w.Install(w.compile(benchRules))
	return w
}

// oneToFour are calls by the number of their descriptors.
var oneToFour = []struct{ name, line string }{
	{"1", "[user=ann]"},
	{"4", "[user=ann] [path=/login] [ip=10.0.0.1] [tenant=acme,user=ann]"},
}

// TestAllocations: matching, deciding and encoding a call allocates nothing.
func TestAllocations(t *testing.T) {
	calls := []string{
		"[user=ann]", "[path=/login]", "[ip=10.0.0.1]", "[tenant=acme,user=ann]",
		oneToFour[1].line,
		"[full=1]", "[full=1] [user=ann]", "[zero=1] [user=ann]", "[free=1]", "[none=1]",
		"[user=ann]{hits=0}", "[user=ann]{hits=3}", "[user=ann]{refund}",
		"domain=unknown [user=ann]",
	}
	w := wallClocked(t, nil)
	for _, line := range calls {
		req, encode := parseCall(t, line), make([]byte, 0, 4096)
		var ans rls.Answer
		got := testing.AllocsPerRun(500, func() {
			if err := w.Decide(context.Background(), req, &ans); err != nil {
				t.Fatal(err)
			}
			encode = wire.AppendAnswer(encode[:0], &ans)
		})
		if int(got) > allocationsAllowed {
			t.Errorf("%s: %v allocations, want %d", line, got, allocationsAllowed)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, call := range oneToFour {
		b.Run("descriptors="+call.name, func(b *testing.B) { benchmark(b, call.line, nil) })
	}
	b.Run("denied", func(b *testing.B) { benchmark(b, "[full=1]", nil) })
	b.Run("override", func(b *testing.B) { benchmark(b, "[user=ann]{limit=4000000000/second}", nil) })
	b.Run("metrics", func(b *testing.B) {
		benchmark(b, oneToFour[1].line, func(o *rls.Options, _ *descriptors.Options) { o.Metrics = newRecorder() })
	})
	b.Run("headers", func(b *testing.B) {
		benchmark(b, "[user=ann]", func(o *rls.Options, _ *descriptors.Options) {
			o.Headers = rls.HeaderOptions{RateLimit: true, XRateLimit: true, Rule: true}
		})
	})
	b.Run("metadata", func(b *testing.B) {
		benchmark(b, "[user=ann]", func(o *rls.Options, _ *descriptors.Options) { o.Metadata = true })
	})
}

func benchmark(b *testing.B, line string, adjust func(*rls.Options, *descriptors.Options)) {
	w := wallClocked(b, adjust)
	req := parseCall(b, line)
	var ans rls.Answer
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Decide(context.Background(), req, &ans); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParallel is many callers at once, each with a user of its own.
func BenchmarkParallel(b *testing.B) {
	w := wallClocked(b, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := parseCall(b, "[user=ann] [tenant=acme,user=ann]")
		var ans rls.Answer
		for pb.Next() {
			if err := w.Decide(context.Background(), req, &ans); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
