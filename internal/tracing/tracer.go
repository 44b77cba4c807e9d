package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Options say what is traced and where spans go.
type Options struct {
	// Endpoint is a URL such as http://collector:4318; "" leaves it to the
	// variables of OpenTelemetry, which say all else about the connection, too:
	// OTEL_EXPORTER_OTLP_HEADERS, …_CERTIFICATE, …_TIMEOUT and so on.
	Endpoint string
	GRPC     bool // OTLP over gRPC; else over HTTP

	ServiceName      string
	ServiceNamespace string // "" = none
	ServiceInstance  string // "" = a random one
	ServiceVersion   string

	// SamplingRate is the share of traces to begin, from 0 to 1. Calls that are
	// part of a trace follow its decision.
	SamplingRate float64
	// Method is the full name of the gRPC method that is traced. All others, such
	// as health checks, are not.
	Method string

	Logger *slog.Logger
}

// Tracer makes spans and sends them. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	method   string
	log      *slog.Logger
}

// New makes a tracer. It does not wait for the collector, and goes on without it.
func New(o Options) (*Tracer, error) {
	exporter, err := newExporter(o)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := describe(o)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	return &Tracer{
		method: o.Method,
		log:    o.Logger,
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(&loggedExporter{SpanExporter: exporter, log: o.Logger}),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.SamplingRate))),
			sdktrace.WithResource(about),
		),
	}, nil
}

// describe says which server the spans are of. OTEL_RESOURCE_ATTRIBUTES may say
// more.
func describe(o Options) (*resource.Resource, error) {
	if o.ServiceInstance == "" {
		o.ServiceInstance = newInstance()
	}
	attrs := []attribute.KeyValue{
		attribute.String("service.name", o.ServiceName),
		attribute.String("service.instance.id", o.ServiceInstance),
		attribute.String("service.version", o.ServiceVersion),
	}
	if o.ServiceNamespace != "" {
		attrs = append(attrs, attribute.String("service.namespace", o.ServiceNamespace))
	}
	return resource.New(context.Background(),
		resource.WithTelemetrySDK(), resource.WithFromEnv(), resource.WithAttributes(attrs...))
}

// StatsHandler is what a gRPC server tells of its calls.
func (t *Tracer) StatsHandler() stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider),
		otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.NewCompositeTextMapPropagator(
			b3{}, propagation.TraceContext{}, propagation.Baggage{})),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return info.FullMethodName == t.method }),
	)
}

// The attributes of a span.
const (
	domainKey  = attribute.Key("ratelimit.domain")
	ruleKey    = attribute.Key("ratelimit.rule")
	verdictKey = attribute.Key("ratelimit.verdict")
)

// Answered puts a decision on the span of ctx.
func (t *Tracer) Answered(ctx context.Context, ans *rls.Answer) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	verdict := "OK"
	if ans.Code == rls.OverLimit {
		verdict = "OVER_LIMIT"
	}
	span.SetAttributes(verdictKey.String(verdict))
	if l := ans.Limit; l != nil {
		span.SetAttributes(ruleKey.String(l.Label))
		if l.Rule != nil {
			span.SetAttributes(domainKey.String(l.Rule.Domain))
		}
	}
}

// closeTimeout is how long the last spans may take to send: a collector that is
// gone must not hold up the end.
const closeTimeout = time.Second

// Close sends the spans that are left and ends. What cannot be sent is logged.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans were not sent", "error", err)
	}
}
