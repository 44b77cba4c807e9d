// Package service is the gRPC side of the rate limit server: Envoy's
// RateLimitService over a [Decider], with health, reflection and an orderly end.
//
// A call costs what gRPC costs and little more. Requests and answers are pooled
// and go through package wire instead of generated messages; one interceptor
// recovers, counts and times; there is no stats handler. All other services on
// the server use protobuf's own codec.
//
// The package also reads and writes the two messages as JSON, for the HTTP
// endpoint that takes what gRPC takes.
package service
