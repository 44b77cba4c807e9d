package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Tracing and METRICS_COMPAT are on in a server that is told so, and off in one
// that is not.
func TestWatchedOnlyIfTold(t *testing.T) {
	t.Parallel()
	var exports atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			exports.Add(1)
		}
	}))
	t.Cleanup(collector.Close)
	rules := t.TempDir()
	writeRules(t, rules, "shop.yaml", threeADay)
	const hits = `ratelimit_service_rate_limit_total_hits{domain="shop",key1="user",key2=""} 1`
	const failures = `ratelimit_service_should_rate_limit_error{err_type="service_error"} 1`

	quiet := start(t, "--rules="+rules)
	quiet.decideOverGRPC(t)
	if _, text := quiet.get("metrics", "/metrics"); strings.Contains(text, "ratelimit_service_") {
		t.Error("the reference's metrics are there though nobody asked for them")
	}
	watched := startIn(t, []string{"METRICS_COMPAT=true", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "--rules="+rules)
	watched.decideOverGRPC(t)
	for _, want := range []string{hits, failures} {
		if _, text := watched.get("metrics", "/metrics"); !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	watched.signal(syscall.SIGTERM) // what is left to export goes out
	watched.exits()
	if exports.Load() == 0 {
		t.Error("no span came to the collector")
	}
}

// decideOverGRPC makes a call that is decided and one that is refused.
func (s *server) decideOverGRPC(t *testing.T) {
	t.Helper()
	until(t, "it is ready", s.ready)
	conn, err := grpc.NewClient(s.addr("gRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := rlsv3.NewRateLimitServiceClient(conn)
	req := &rlsv3.RateLimitRequest{Domain: "shop", Descriptors: []*ratelimitv3.RateLimitDescriptor{{
		Entries: []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "user", Value: "ann"}},
	}}}
	if _, err := client.ShouldRateLimit(t.Context(), req); err != nil {
		t.Error(err)
	}
	req.Domain = ""
	if _, err := client.ShouldRateLimit(t.Context(), req); err == nil {
		t.Error("a call without a domain was decided")
	}
}
