package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

const method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

var discard = slog.New(slog.DiscardHandler)

func newTracer(t *testing.T, o Options) *Tracer {
	t.Helper()
	o.Method, o.ServiceName = method, "RateLimit"
	if o.Logger == nil {
		o.Logger = discard
	}
	tracer, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// serve is a call as a gRPC server tells of it.
func serve(tracer *Tracer, method string, ans *rls.Answer) {
	h := tracer.StatsHandler()
	ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{FullMethodName: method})
	tracer.Answered(ctx, ans)
	h.HandleRPC(ctx, &stats.End{})
}

var denied = rls.Answer{Code: rls.OverLimit, Limit: &descriptors.Limit{Label: "shop/plan=free/user", Rule: &descriptors.Rule{Domain: "shop"}}}

// Spans reach a collector, over both protocols, with what they should carry.
func TestSpansAreSent(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(*receiver, *testing.T) string{
		"grpc": (*receiver).overGRPC, "http": (*receiver).overHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := new(receiver)
			tracer := newTracer(t, Options{
				Endpoint: over(r, t), GRPC: name == "grpc", SamplingRate: 1, ServiceNamespace: "edge", ServiceVersion: "v1",
			})
			serve(tracer, method, &denied)
			serve(tracer, method, &rls.Answer{Code: rls.OK})
			serve(tracer, "/grpc.health.v1.Health/Check", &rls.Answer{Code: rls.OK})
			tracer.Close()
			spans, about := r.spans()
			if len(spans) != 2 {
				t.Fatalf("%d spans, want 2: %v", len(spans), spans)
			}
			first, second := attributes(spans[0]), attributes(spans[1])
			for key, want := range map[string]string{
				"ratelimit.verdict": "OVER_LIMIT", "ratelimit.rule": "shop/plan=free/user", "ratelimit.domain": "shop",
			} {
				if first[key] != want {
					t.Errorf("%s is %q, want %q", key, first[key], want)
				}
			}
			if second["ratelimit.verdict"] != "OK" || second["ratelimit.rule"] != "" {
				t.Errorf("the call without a limit has %v", second)
			}
			if about["service.name"] != "RateLimit" || about["service.namespace"] != "edge" || about["service.version"] != "v1" || len(about["service.instance.id"]) != 36 {
				t.Errorf("the spans are of %v", about)
			}
		})
	}
}

// The rate is of traces that begin here; a caller's decision is followed.
func TestSampling(t *testing.T) {
	t.Parallel()
	r := new(receiver)
	tracer := newTracer(t, Options{Endpoint: r.overGRPC(t), GRPC: true, SamplingRate: 0})
	h := tracer.StatsHandler()
	for _, sampled := range []string{"", "0", "1"} {
		ctx := context.Background()
		if sampled != "" {
			ctx = b3{}.Extract(ctx, carrier{"b3": "463ac35c9f6413ad48485a3953bb6124-a2fb4a1d1a96d312-" + sampled})
		}
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: method})
		h.HandleRPC(ctx, &stats.End{})
	}
	tracer.Close()
	if spans, _ := r.spans(); len(spans) != 1 || len(spans[0].ParentSpanId) == 0 {
		t.Errorf("got %v, want the one of the sampled trace", spans)
	}
}

// A collector that is not there costs spans and a line in the log.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + listener.Addr().String()
	listener.Close()
	var log bytes.Buffer
	tracer := newTracer(t, Options{Endpoint: endpoint, SamplingRate: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	serve(tracer, method, &denied)
	tracer.Close()
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("logged %q", &log)
	}
}

func TestB3(t *testing.T) {
	t.Parallel()
	const long, short, span = "463ac35c9f6413ad48485a3953bb6124", "48485a3953bb6124", "a2fb4a1d1a96d312"
	tests := []struct {
		name    string
		headers carrier
		trace   string // "" = none
		sampled bool
	}{
		{"single", carrier{"b3": long + "-" + span + "-1"}, long, true},
		{"single, debug, with a parent", carrier{"b3": long + "-" + span + "-d-" + span}, long, true},
		{"single, short", carrier{"b3": short + "-" + span + "-0"}, "0000000000000000" + short, false},
		{"single, undecided", carrier{"b3": long + "-" + span}, long, false},
		{"a decision only", carrier{"b3": "0"}, "", false},
		{"several", carrier{"x-b3-traceid": long, "x-b3-spanid": span, "x-b3-sampled": "1"}, long, true},
		{"several, debug", carrier{"x-b3-traceid": long, "x-b3-spanid": span, "x-b3-flags": "1"}, long, true},
		{"capitals", carrier{"x-b3-traceid": strings.ToUpper(long), "x-b3-spanid": span}, long, false},
		{"no hex", carrier{"b3": "x-y-1"}, "", false},
		{"zero", carrier{"b3": strings.Repeat("0", 32) + "-" + span + "-1"}, "", false},
		{"none", carrier{}, "", false},
	}
	for _, c := range tests {
		got := trace.SpanContextFromContext(b3{}.Extract(context.Background(), c.headers))
		if got.IsValid() != (c.trace != "") || got.IsValid() && got.TraceID().String() != c.trace || got.IsSampled() != c.sampled {
			t.Errorf("%s: %v, sampled %v", c.name, got.TraceID(), got.IsSampled())
		}
	}
}
