package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

func TestThrottle(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	gate := throttle{every: time.Second}
	steps := []struct {
		after time.Duration
		ok    bool
		held  int64
	}{
		{0, true, 0}, {0, false, 0}, {999 * time.Millisecond, false, 0}, {time.Second, true, 2},
		{time.Second + 1, false, 0}, {time.Hour, true, 1}, {2 * time.Hour, true, 0},
	}
	for i, s := range steps {
		if held, ok := gate.allow(start.Add(s.after)); ok != s.ok || held != s.held {
			t.Errorf("step %d: %v with %d held back, want %v with %d", i, ok, held, s.ok, s.held)
		}
	}
}

// protobuf puts one of two spaces behind its prefix, by the build.
func TestPlainErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"proto: unknown field", "proto:\u00a0unknown\u00a0field", "unknown field"} {
		if got := plain(errors.New(text)); got != "unknown field" {
			t.Errorf("plain(%q) = %q", text, got)
		}
	}
}

// A call that was once huge must not stay in the pool.
func TestHugeCallsAreNotPooled(t *testing.T) {
	t.Parallel()
	grown := func(grow func(c *call)) *call {
		c := new(call)
		grow(c)
		c.reset()
		return c
	}
	tests := []struct {
		name string
		c    *call
		want bool
	}{
		{"fresh", new(call), true},
		{"usual", grown(func(c *call) { c.req.AddDescriptor().Entries = make([]descriptors.Entry, 10) }), true},
		{"many descriptors", grown(func(c *call) { c.req.Descriptors = make([]rls.Descriptor, 1000) }), false},
		{"many entries", grown(func(c *call) { c.req.AddDescriptor().Entries = make([]descriptors.Entry, 1000) }), false},
		{"many statuses", grown(func(c *call) { c.ans.Statuses = make([]rls.Status, 1000) }), false},
		{"a long answer", grown(func(c *call) { c.out = make([]byte, 1<<20) }), false},
	}
	for _, c := range tests {
		if got := c.c.worthKeeping(); got != c.want {
			t.Errorf("%s: kept %v, want %v", c.name, got, c.want)
		}
	}
}

type fixed struct{ limit *descriptors.Limit }

func (f fixed) Decide(_ context.Context, req *rls.Request, ans *rls.Answer) error {
	ans.Code = rls.OK
	for range req.Descriptors {
		ans.Statuses = append(ans.Statuses, rls.Status{Code: rls.OK, Limit: f.limit, Remaining: 59, HasReset: true, ResetSeconds: 1})
	}
	return nil
}

// BenchmarkHandler is all of a call but gRPC and the decision: from the message
// as received to the message to send.
func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprintf("descriptors=%d", n), func(b *testing.B) {
			run := benchCall(b, n)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// Decoding and encoding take one allocation each; the others are what gRPC asks
// for: the closure around the interceptor, a boxed buffer, a list of buffers.
func TestHandlerAllocations(t *testing.T) {
	run := benchCall(t, 4)
	least := math.Inf(1) // of many: pools forget now and then, on purpose under the race detector
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	if least > 5 {
		t.Errorf("%v allocations, want 5", least)
	}
}

// A panic in a stream of health or reflection costs that stream.
func TestPanicInStream(t *testing.T) {
	t.Parallel()
	s := newStreams(newObservation(noObserver{}, slog.New(slog.DiscardHandler)))
	defer s.end()
	err := s.intercept(nil, idle{}, &grpc.StreamServerInfo{FullMethod: "/a.Service/Stream"},
		func(any, grpc.ServerStream) error { panic("planted") })
	if err != errInternal {
		t.Errorf("error %v, want %v", err, errInternal)
	}
}

type idle struct{ grpc.ServerStream }

func (idle) Context() context.Context { return context.Background() }

func benchCall(tb testing.TB, n int) func() {
	m := &rlsv3.RateLimitRequest{Domain: "shop"}
	for i := range n {
		m.Descriptors = append(m.Descriptors, &ratelimitv3.RateLimitDescriptor{
			Entries: []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "path", Value: fmt.Sprint("/api/", i)}, {Key: "remote_address", Value: "192.0.2.17"}},
		})
	}
	data, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	observed := newObservation(noObserver{}, nil)
	h := newHandler(Options{Decider: fixed{&descriptors.Limit{Amount: 60, Unit: descriptors.Minute, WireName: "per-path"}}}, observed)
	c := newCodec()
	received := mem.BufferSlice{mem.SliceBuffer(data)}
	read := func(v any) error { return c.Unmarshal(received, v) }
	return func() {
		answer, err := h.shouldRateLimit(nil, context.Background(), read, observed.unary)
		if err != nil {
			tb.Fatal(err)
		}
		out, err := c.Marshal(answer)
		if err != nil || out.Len() == 0 {
			tb.Fatal(err)
		}
		out.Free()
	}
}
