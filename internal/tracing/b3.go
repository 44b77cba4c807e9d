package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// b3 reads the trace that a caller with a Zipkin tracer sends, in one header or
// in several. It writes nothing: this server calls nobody on.
type b3 struct{}

const (
	b3Single  = "b3"
	b3TraceID = "x-b3-traceid"
	b3SpanID  = "x-b3-spanid"
	b3Sampled = "x-b3-sampled"
	b3Flags   = "x-b3-flags"
)

func (b3) Inject(context.Context, propagation.TextMapCarrier) {}

func (b3) Fields() []string { return []string{b3Single, b3TraceID, b3SpanID, b3Sampled, b3Flags} }

func (b3) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	traceID, spanID, sampled := c.Get(b3TraceID), c.Get(b3SpanID), c.Get(b3Sampled)
	if c.Get(b3Flags) == "1" {
		sampled = "d"
	}
	if single := c.Get(b3Single); single != "" {
		parts := strings.SplitN(single, "-", 4) // trace, span, sampled, parent
		if len(parts) < 2 {
			return ctx // a decision without a trace
		}
		traceID, spanID, sampled = parts[0], parts[1], ""
		if len(parts) > 2 {
			sampled = parts[2]
		}
	}
	remote, ok := b3Context(traceID, spanID, sampled)
	if !ok {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, remote)
}

// b3Context makes a context of ids in hex, those of traces in 64 or 128 bits.
func b3Context(traceID, spanID, sampled string) (trace.SpanContext, bool) {
	if len(traceID) == 16 {
		traceID = strings.Repeat("0", 16) + traceID
	}
	t, err := trace.TraceIDFromHex(strings.ToLower(traceID))
	if err != nil {
		return trace.SpanContext{}, false
	}
	s, err := trace.SpanIDFromHex(strings.ToLower(spanID))
	if err != nil {
		return trace.SpanContext{}, false
	}
	config := trace.SpanContextConfig{TraceID: t, SpanID: s, Remote: true}
	switch sampled {
	case "1", "d", "true":
		config.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(config), true
}
