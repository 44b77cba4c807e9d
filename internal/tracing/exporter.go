package tracing

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newExporter makes what sends spans. Without an endpoint in o it reads
// OTEL_EXPORTER_OTLP_ENDPOINT and its like by itself.
func newExporter(o Options) (sdktrace.SpanExporter, error) {
	if o.GRPC {
		var options []otlptracegrpc.Option
		if o.Endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(o.Endpoint))
		}
		return otlptracegrpc.New(context.Background(), options...)
	}
	var options []otlptracehttp.Option
	if o.Endpoint != "" {
		traces, err := url.JoinPath(o.Endpoint, "v1", "traces")
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(traces))
	}
	return otlptracehttp.New(context.Background(), options...)
}

// loggedExporter logs what goes wrong, once in a while: OpenTelemetry has but a
// global place for that.
type loggedExporter struct {
	sdktrace.SpanExporter
	log    *slog.Logger
	logged atomic.Int64 // Unix time in ns
}

const logInterval = 30 * time.Second

func (e *loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	now, last := time.Now().UnixNano(), e.logged.Load()
	if now-last >= int64(logInterval) && e.logged.CompareAndSwap(last, now) {
		e.log.Warn("spans could not be sent and are lost; calls are decided as ever", "spans", len(spans), "error", err)
	}
	return nil
}

// newInstance is a random UUID, version 4.
func newInstance() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
