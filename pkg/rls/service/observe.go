package service

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Observer is told of what the server did. Its methods are called from many
// goroutines, within the calls, and must not block.
type Observer interface {
	// Call is told of each unary call that reached a handler, and of each call to
	// a method that the server does not have. method is a full name such as
	// [ServiceMethod], or "" for a method that is unknown.
	Call(method string, code codes.Code, elapsed time.Duration)
	// Panic is told of each panic that was recovered.
	Panic()
}

type noObserver struct{}

func (noObserver) Call(string, codes.Code, time.Duration) {}
func (noObserver) Panic()                                 {}

// observation recovers, counts and times calls.
type observation struct {
	observer Observer
	log      *slog.Logger
	panics   throttle
	failures throttle
}

func newObservation(o Observer, log *slog.Logger) *observation {
	return &observation{
		observer: o, log: log,
		panics: throttle{every: time.Second}, failures: throttle{every: time.Second},
	}
}

func (o *observation) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	start := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			o.panicked(info.FullMethod, cause)
			resp, err = nil, errInternal
		}
		o.observer.Call(info.FullMethod, status.Code(err), time.Since(start))
	}()
	return next(ctx, req)
}

// panicked is called from the deferred function that recovered, while the stack
// still shows where the panic was.
func (o *observation) panicked(method string, cause any) {
	o.observer.Panic()
	if unlogged, ok := o.panics.allow(time.Now()); ok {
		o.log.Error("a call panicked; it was answered with an internal error",
			"method", method, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()), "unlogged", unlogged)
	}
}

// failed logs the error of a call that was answered with an internal error.
func (o *observation) failed(err error) {
	if unlogged, ok := o.failures.allow(time.Now()); ok {
		o.log.Error("a call failed; it was answered with an internal error", "error", err, "unlogged", unlogged)
	}
}
