// Package noop is the baseline of measurements: a rate limit server on grpc-go
// with nothing but defaults, that answers OK to each descriptor.
package noop
