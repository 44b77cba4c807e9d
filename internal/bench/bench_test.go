package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/envoy-rls/envoy-rls/internal/bench/noop"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serveNoop(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- noop.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l.Addr().String()
}

func TestLoops(t *testing.T) {
	addr := serveNoop(t)
	for name, rate := range map[string]float64{"closed": 0, "open": 2000} {
		t.Run(name, func(t *testing.T) {
			seconds := 0
			r, err := Run(context.Background(), Config{
				Addr: addr, Domain: "d", Descriptors: []string{"a", "b"}, Keys: 100, Exponent: 1, Hits: 2,
				Connections: 2, Streams: 4, Rate: rate, Warmup: 50 * time.Millisecond, Duration: 500 * time.Millisecond, Timeout: time.Minute,
				Progress: func(time.Duration, uint64) { seconds++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Loop != name || r.Calls == 0 || r.Allowed != r.Calls || r.Denied != 0 || len(r.Failed) != 0 || seconds == 0 {
				t.Errorf("%+v", r)
			}
			if r.LatencyMicros["p50"] <= 0 || r.LatencyMicros["p50"] > r.LatencyMicros["max"] {
				t.Errorf("latency %v", r.LatencyMicros)
			}
			if sent := r.CallsPerSecond / rate; rate > 0 && (sent < 0.05 || sent > 5) {
				t.Errorf("%v calls a second, want %v", r.CallsPerSecond, rate)
			}
		})
	}
}

// A server that never denies is caught.
func TestExcessIsFound(t *testing.T) {
	r, err := Run(context.Background(), Config{
		Addr: serveNoop(t), Domain: "d", Descriptors: []string{"a"}, Keys: 3,
		Connections: 1, Streams: 4, Duration: 300 * time.Millisecond, Timeout: time.Minute,
		Bound: &Bound{Algorithm: buckets.FixedWindow, Amount: 1, Window: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Excess) != 3 || r.BoundHits != 2 || r.MostAllowed <= 2 {
		t.Errorf("%+v", r)
	}
}

func TestRunFails(t *testing.T) {
	for name, c := range map[string]Config{
		"nothing": {},
		"nobody":  {Addr: "127.0.0.1:1", Domain: "d", Descriptors: []string{"a"}, Keys: 1, Connections: 1, Streams: 1, Duration: time.Second, Timeout: time.Second},
	} {
		if r, err := Run(context.Background(), c); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestBoundMost(t *testing.T) {
	for algorithm, want := range map[buckets.Algorithm]uint64{
		buckets.TokenBucket: 5 + 25, buckets.GCRA: 5 + 25, buckets.LeakyBucket: 5 + 25,
		buckets.FixedWindow: 40, buckets.SlidingWindowCounter: 40, buckets.SlidingWindowLog: 30,
	} {
		b := Bound{Algorithm: algorithm, Amount: 10, Burst: 5, Window: time.Second}
		if got := b.Most(2500 * time.Millisecond); got != want {
			t.Errorf("%v: %d, want %d", algorithm, got, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h, other Histogram
	for n := range int64(100_000) {
		[]*Histogram{&h, &other}[n%2].record(n * 1000)
	}
	h.add(&other)
	for share, want := range map[float64]float64{0.5: 50e6, 0.99: 99e6, 1: 99.999e6} {
		if got := float64(h.Quantile(share)); math.Abs(got/want-1) > 0.008 {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
	if got := new(Histogram).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for _, nanos := range []int64{0, 1, 127, 128, 255, 256, 257, 1 << 40, math.MaxInt64} {
		if end := columnEnd(column(nanos)); end < nanos || float64(end) > float64(nanos)*1.008+1 {
			t.Errorf("%d is counted as %d", nanos, end)
		}
	}
}

func TestZipf(t *testing.T) {
	const draws = 200_000
	for _, exponent := range []float64{0, 1, 1.5} {
		z, random := newZipf(50, exponent), rand.New(rand.NewPCG(1, 2))
		var counts [50]float64
		for range draws {
			counts[z.draw(random)]++
		}
		if got, want := counts[0]/counts[9], math.Pow(10, exponent); math.Abs(got/want-1) > 0.2 {
			t.Errorf("exponent %v: the first comes %v times as often as the tenth, want %v", exponent, got, want)
		}
	}
}

func TestReadAnswerRefusesNonsense(t *testing.T) {
	for _, data := range []string{"", "\x00\x00\x00\x00\x05", "\x01\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x12\x05", "\x00\x00\x00\x00\x01\x08", "\x00\x00\x00\x00\x02\x0d\x05"} {
		if _, _, err := readAnswer([]byte(data)); err == nil {
			t.Errorf("%q was read", data)
		}
	}
}
