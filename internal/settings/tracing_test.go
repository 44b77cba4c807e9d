package settings

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTracing(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	plain := Tracing{Protocol: ProtocolHTTP, ServiceName: "RateLimit", SamplingRate: 1}
	tests := []struct {
		name    string
		environ []string
		change  func(*Tracing)
	}{
		{"off", nil, func(*Tracing) {}},
		{"on", []string{"TRACING_ENABLED=true"}, func(w *Tracing) { w.Enabled = true }},
		{"on by an endpoint", []string{endpoint}, func(w *Tracing) {
			w.Enabled, w.Endpoint = true, "http://collector:4318"
		}},
		{"an endpoint of traces is left to the exporter", []string{endpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://other/x"}, func(w *Tracing) {
			w.Enabled = true
		}},
		{"off in spite of an endpoint", []string{endpoint, "TRACING_ENABLED=false"}, func(w *Tracing) { w.Endpoint = "http://collector:4318" }},
		{"an endpoint that is none matters only if used", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector", "TRACING_ENABLED=false"}, func(w *Tracing) {
			w.Endpoint = "collector"
		}},
		{"as Envoy Gateway sets it", []string{endpoint, "TRACING_ENABLED=true", "TRACING_SERVICE_NAME=envoy-ratelimit",
			"TRACING_SERVICE_NAMESPACE=envoy-gateway-system", "TRACING_SERVICE_INSTANCE_ID=pod-1", "TRACING_SAMPLING_RATE=0.25"}, func(w *Tracing) {
			*w = Tracing{true, "http://collector:4318", ProtocolHTTP, "envoy-ratelimit", "envoy-gateway-system", "pod-1", 0.25}
		}},
		{"as OpenTelemetry names it", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_SERVICE_NAME=x"}, func(w *Tracing) {
			w.Protocol, w.ServiceName = ProtocolGRPC, "x"
		}},
	}
	for _, c := range tests {
		s, report := mustLoad(t, "envoy-rls", c.environ...)
		want := plain
		c.change(&want)
		if diff := cmp.Diff(want, s.Tracing); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if len(report.Warnings) > 0 {
			t.Errorf("%s: warnings %q", c.name, report.Warnings)
		}
	}
	for _, bad := range []string{"TRACING_EXPORTER_PROTOCOL=udp", "TRACING_SAMPLING_RATE=2", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317"} {
		_, _, err := Load(Input{Environ: []string{bad}, Program: "envoy-rls", Exists: func(string) bool { return false }})
		if problems := (Problems)(nil); !errors.As(err, &problems) || len(problems) != 1 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
