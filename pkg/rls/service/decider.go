package service

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Decider decides calls; [rls.Limiter] is one.
//
// Decide fills ans, which is empty, or returns an error: an [*rls.Error], whose
// text the caller gets to see, the error of ctx, or any other, whose text it does
// not. ctx ends with the call's deadline or when the caller goes away. Decide may
// keep strings of req, but neither req nor ans nor their slices once it has
// returned. It is called from many goroutines.
type Decider interface {
	Decide(ctx context.Context, req *rls.Request, ans *rls.Answer) error
}

var errInternal = status.Error(codes.Internal, "internal error: the server's log tells more")

// toStatus is what the caller is told of an error of Decide.
func toStatus(err error) error {
	var failed *rls.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == rls.Invalid:
		return status.Error(codes.InvalidArgument, failed.Text)
	case errors.As(err, &failed) && failed.Kind == rls.Unavailable:
		return status.Error(codes.Unavailable, failed.Text)
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "the call's deadline passed before it was decided")
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "the caller went away before the call was decided")
	}
	return errInternal
}
