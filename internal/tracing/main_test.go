package tracing

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a collector of spans.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu  sync.Mutex
	got []*tracev1.ResourceSpans
}

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, req.ResourceSpans...)
	return &collector.ExportTraceServiceResponse{}, nil
}

// spans are those received, and the attributes of their resource.
func (r *receiver) spans() (spans []*tracev1.Span, about map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	about = map[string]string{}
	for _, rs := range r.got {
		for _, kv := range rs.Resource.Attributes {
			about[kv.Key] = kv.Value.GetStringValue()
		}
		for _, scope := range rs.ScopeSpans {
			spans = append(spans, scope.Spans...)
		}
	}
	return spans, about
}

// overGRPC receives until the test ends; the result is its endpoint.
func (r *receiver) overGRPC(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

func (r *receiver) overHTTP(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		var req collector.ExportTraceServiceRequest
		if err != nil || in.URL.Path != "/v1/traces" || proto.Unmarshal(body, &req) != nil {
			t.Errorf("%s: %d bytes, %v", in.URL, len(body), err)
		}
		_, _ = r.Export(in.Context(), &req)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// attributes are the texts on a span.
func attributes(s *tracev1.Span) map[string]string {
	all := map[string]string{}
	for _, kv := range s.Attributes {
		all[kv.Key] = kv.Value.GetStringValue()
	}
	return all
}

// carrier are the headers of a call.
type carrier = propagation.MapCarrier
