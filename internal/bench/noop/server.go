package noop

import (
	"context"
	"net"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

type server struct {
	rlsv3.UnimplementedRateLimitServiceServer
}

func (server) ShouldRateLimit(_ context.Context, req *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	resp := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	for range req.GetDescriptors() {
		resp.Statuses = append(resp.Statuses, &rlsv3.RateLimitResponse_DescriptorStatus{Code: rlsv3.RateLimitResponse_OK})
	}
	return resp, nil
}

// Serve serves on l until ctx ends.
func Serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer()
	rlsv3.RegisterRateLimitServiceServer(s, server{})
	defer context.AfterFunc(ctx, s.Stop)()
	return s.Serve(l)
}
