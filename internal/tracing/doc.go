// Package tracing sends a span for each rate limit call by OTLP.
//
// A span carries the rule and the verdict, which come from the rules. It carries
// nothing of the call itself: no value of a descriptor, no domain that is in no
// rule. The trace goes on from what the caller sends (W3C trace context, B3,
// baggage).
//
// Nothing here is global: no provider, propagator or error handler of
// OpenTelemetry is set. Without a [Tracer] the server has no stats handler, and a
// call costs what it costs without tracing.
//
// The package owns the imports of OpenTelemetry.
package tracing
