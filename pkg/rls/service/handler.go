package service

import (
	"context"
	"sync"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// ServiceName is the full name of the rate limit service, ServiceMethod that of
// its one method.
const (
	ServiceName   = "envoy.service.ratelimit.v3.RateLimitService"
	ServiceMethod = rlsv3.RateLimitService_ShouldRateLimit_FullMethodName
)

// handler answers ShouldRateLimit.
type handler struct {
	decider  Decider
	observed *observation
	answered func(context.Context, *rls.Answer) // nil if nobody is told
	calls    sync.Pool                          // of *call
	info     *grpc.UnaryServerInfo
}

func newHandler(o Options, observed *observation) *handler {
	return &handler{
		decider:  o.Decider,
		observed: observed,
		answered: o.Answered,
		calls:    sync.Pool{New: func() any { return new(call) }},
		info:     &grpc.UnaryServerInfo{Server: o.Decider, FullMethod: ServiceMethod},
	}
}

// describe is the service as gRPC registers it. Reflection finds the messages by
// the path of their proto file.
func (h *handler) describe() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: ServiceName,
		HandlerType: (*Decider)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: h.shouldRateLimit}},
		Metadata:    rlsv3.File_envoy_service_ratelimit_v3_rls_proto.Path(),
	}
}

// shouldRateLimit puts the interceptor around all of a call, reading the message
// included.
func (h *handler) shouldRateLimit(_ any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
	return intercept(ctx, nil, h.info, func(ctx context.Context, _ any) (any, error) {
		return h.serve(ctx, read)
	})
}

// serve reads the request and returns the encoded answer. A call that panics is
// not pooled again: whoever works on it may not have stopped.
func (h *handler) serve(ctx context.Context, read func(any) error) (any, error) {
	c := h.calls.Get().(*call)
	encoded, err := h.answer(ctx, c, read)
	if c.worthKeeping() {
		c.reset()
		h.calls.Put(c)
	}
	return encoded, err
}

func (h *handler) answer(ctx context.Context, c *call, read func(any) error) (any, error) {
	if err := read(c); err != nil {
		return nil, err // of gRPC, with a status
	}
	if c.malformed != nil {
		return nil, status.Error(codes.InvalidArgument, c.malformed.Error())
	}
	if err := h.decider.Decide(ctx, &c.req, &c.ans); err != nil {
		told := toStatus(err)
		if told == errInternal {
			h.observed.failed(err)
		}
		return nil, told
	}
	if h.answered != nil {
		h.answered(ctx, &c.ans)
	}
	return c.encode(), nil
}
