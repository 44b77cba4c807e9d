// Package rls decides rate limit calls: it finds the rules of a call's
// descriptors, has a store decide all their limits at once, and makes the
// answer. It is the one place where a decision is made; the gRPC service, the
// JSON endpoint and the live page all call [Limiter.Decide].
//
// The package knows no protobuf and no gRPC: rls/wire turns Envoy's messages
// into a [Request] and an [Answer] into theirs, rls/service serves them.
package rls
