package tracing

import (
	"context"
	"net"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

const rules = `
domain: shop
descriptors:
- {key: user, rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: token, sensitive: true, rate_limit: {unit: hour, requests_per_unit: 1000000}}
`

// client calls a server of these rules that is traced by tracer, if not nil.
func client(tb testing.TB, tracer *Tracer) rlsv3.RateLimitServiceClient {
	tb.Helper()
	set, problems := descriptors.Compile([]descriptors.File{{Name: "shop.yaml", Data: []byte(rules)}}, nil, descriptors.Options{})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	store := memstore.New(memstore.Options{})
	limiter := rls.NewLimiter(rls.Options{Store: store})
	limiter.Install(set)
	o := service.Options{Decider: limiter}
	if tracer != nil {
		o.StatsHandler, o.Answered = tracer.StatsHandler(), tracer.Answered
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := service.NewServer(o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		cut, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Stop(cut) // cuts what is left
		if err := <-served; err != nil {
			tb.Error(err)
		}
		store.Close()
	})
	return rlsv3.NewRateLimitServiceClient(conn)
}

func request(domain, key, value string) *rlsv3.RateLimitRequest {
	return &rlsv3.RateLimitRequest{Domain: domain, Descriptors: []*ratelimitv3.RateLimitDescriptor{{
		Entries: []*ratelimitv3.RateLimitDescriptor_Entry{{Key: key, Value: value}},
	}}}
}

// A span for each call, in the caller's trace, with the rule and the verdict and
// nothing of the call.
func TestCallsAreTraced(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	r := new(receiver)
	tracer := newTracer(t, Options{Endpoint: r.overGRPC(t), GRPC: true, SamplingRate: 1})
	calls := client(t, tracer)
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		"traceparent", "00-463ac35c9f6413ad48485a3953bb6124-a2fb4a1d1a96d312-01", "baggage", "k="+secret, "x-token", secret)
	for _, req := range []*rlsv3.RateLimitRequest{
		request("shop", "user", secret), request("shop", "user", secret), request("shop", "token", secret),
		request("shop", "no-"+secret, secret), request(secret, "user", secret),
	} {
		if _, err := calls.ShouldRateLimit(ctx, req, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := calls.ShouldRateLimit(ctx, &rlsv3.RateLimitRequest{Domain: secret}); err == nil {
		t.Error("a call without descriptors was decided")
	}
	tracer.Close()
	spans, _ := r.spans()
	var got []string
	for _, s := range spans {
		a := attributes(s)
		got = append(got, strings.TrimSpace(a["ratelimit.verdict"]+" "+a["ratelimit.rule"]))
		if strings.Contains(s.String(), secret) {
			t.Errorf("a span tells of the call: %v", s)
		}
		if s.TraceId[0] != 0x46 {
			t.Errorf("a span is not in the caller's trace: %x", s.TraceId)
		}
	}
	want := "OK shop/user, OVER_LIMIT shop/user, OK shop/token, OK, OK, "
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, ", "), want)
	}
}

// Without tracing there is no stats handler and no hook: off, measured twice to
// show the noise. The last rows are what tracing costs.
func BenchmarkCall(b *testing.B) {
	tracer := func(rate float64) *Tracer {
		t, err := New(Options{Endpoint: "http://127.0.0.1:9", SamplingRate: rate, Method: service.ServiceMethod, Logger: discard})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(t.Close)
		return t
	}
	var off float64
	for _, c := range []struct {
		name   string
		tracer *Tracer
	}{{"off", nil}, {"off_again", nil}, {"on_unsampled", tracer(0)}, {"on", tracer(1)}} {
		calls := client(b, c.tracer)
		b.Run(c.name, func(b *testing.B) {
			req := request("shop", "token", "v")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := calls.ShouldRateLimit(context.Background(), req, grpc.WaitForReady(true)); err != nil {
					b.Fatal(err)
				}
			}
			each := float64(b.Elapsed()) / float64(b.N)
			if off == 0 {
				off = each
			}
			b.ReportMetric(each/off, "of-off")
		})
	}
}
