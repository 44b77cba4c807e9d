package service

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Methods of versions of the API that Envoy itself no longer speaks. A filter
// that does not say which version it wants may still call them.
const (
	methodV2   = "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit"
	methodLyft = "/pb.lyft.ratelimit.RateLimitService/ShouldRateLimit"
)

const useV3 = "only version 3 of the rate limit API is served: set transport_api_version: V3 in the rate_limit_service of the Envoy filter"

// unknown answers calls to methods that the server does not have.
type unknown struct {
	observer Observer
	log      *slog.Logger
	hints    throttle
}

func newUnknown(o Observer, log *slog.Logger) *unknown {
	return &unknown{observer: o, log: log, hints: throttle{every: time.Minute}}
}

func (u *unknown) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if method != methodV2 && method != methodLyft {
		u.observer.Call("", codes.Unimplemented, 0)
		return status.Error(codes.Unimplemented, "unknown method "+method)
	}
	u.observer.Call(method, codes.Unimplemented, 0)
	if unlogged, ok := u.hints.allow(time.Now()); ok {
		u.log.Warn("a call of an old version of the rate limit API was refused", "method", method, "hint", useV3, "unlogged", unlogged)
	}
	return status.Error(codes.Unimplemented, useV3)
}
