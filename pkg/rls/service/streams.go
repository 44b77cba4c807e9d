package service

import (
	"context"

	"google.golang.org/grpc"
)

// streams ends the streams of health and reflection with the server: a client
// that watches its health would hold up a graceful stop until it is cut.
type streams struct {
	observed *observation
	ctx      context.Context
	end      context.CancelFunc
}

func newStreams(o *observation) *streams {
	ctx, end := context.WithCancel(context.Background())
	return &streams{observed: o, ctx: ctx, end: end}
}

func (s *streams) intercept(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.observed.panicked(info.FullMethod, cause)
			err = errInternal
		}
	}()
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return next(srv, endingStream{stream, ctx})
}

// endingStream is a stream with another context.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s endingStream) Context() context.Context { return s.ctx }
