package xdssource

import (
	"context"
	"errors"
	"fmt"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// errLeft ends a stream whose connection the server is about to close.
var errLeft = errors.New("the server closes the connection")

// stream is one aggregated stream on a connection of its own.
type stream struct {
	*client
	conn     *grpc.ClientConn
	rpc      discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	cancel   context.CancelCauseFunc
	answered bool
}

// received is what came in: a response, or why there are no more.
type received struct {
	response *discovery.DiscoveryResponse
	err      error
}

// open connects and asks for everything. Names of resources are left out: that
// asks for all there are.
func (c *client) open(ctx context.Context) (*stream, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{client: c, conn: conn, cancel: cancel}
	for name, value := range c.options.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	s.rpc, err = discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err == nil {
		err = s.rpc.Send(&discovery.DiscoveryRequest{Node: c.node(), TypeUrl: typeURL, VersionInfo: c.version})
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stream) close() {
	s.cancel(nil)
	_ = s.conn.Close() // there is nothing left to lose
}

// run takes answers and replies to them until the stream ends, and says why.
func (s *stream) run(ctx context.Context) error {
	incoming, left := make(chan received), make(chan struct{})
	done := make(chan struct{})
	defer close(done)
	go s.receive(incoming, done)
	go s.watch(left)
	silence := time.NewTimer(s.options.silentDelay)
	defer silence.Stop()
	var late *discovery.DiscoveryRequest // a reply that waits
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-left:
			return errLeft
		case <-silence.C:
			if !s.answered {
				s.options.Log.Warn("the xDS server is silent: it may have no rules for this node id", "server", s.options.Server, "node_id", s.options.NodeID)
			}
		case in := <-incoming:
			if in.err != nil {
				return in.err
			}
			reply, pause, ok := s.answer(ctx, in.response)
			if !ok {
				return context.Cause(ctx)
			}
			late, due = reply, time.After(pause)
		case <-due:
			if err := s.rpc.Send(late); err != nil {
				return s.sendError(incoming, err)
			}
			due = nil
		}
	}
}

// sendError is why nothing can be sent: receiving tells more than sending.
func (s *stream) sendError(incoming <-chan received, err error) error {
	s.cancel(nil)
	if in := <-incoming; in.err != nil {
		return in.err
	}
	return err
}

// receive passes on what comes in.
func (s *stream) receive(incoming chan<- received, done <-chan struct{}) {
	for {
		response, err := s.rpc.Recv()
		select {
		case incoming <- received{response, err}:
		case <-done:
			return
		}
		if err != nil {
			return
		}
	}
}

// watch closes left when the connection is no longer ready: after a GOAWAY the
// stream might go on for as long as the old server lives.
func (s *stream) watch(left chan<- struct{}) {
	ctx := s.rpc.Context()
	for wasReady := false; ; {
		state := s.conn.GetState()
		if wasReady && state != connectivity.Ready {
			close(left)
			return
		}
		wasReady = state == connectivity.Ready
		if !s.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// answer has a response judged and makes the reply, to be sent after a pause.
// It is false when ctx is done.
func (s *stream) answer(ctx context.Context, r *discovery.DiscoveryResponse) (*discovery.DiscoveryRequest, time.Duration, bool) {
	a := &answer{version: r.GetVersionInfo(), first: !s.answered}
	s.answered = true
	if size := proto.Size(r); size > s.options.MaxMessageBytes/10*8 {
		s.options.Log.Warn("an xDS answer is near the largest size: see XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", "bytes", size, "max_bytes", s.options.MaxMessageBytes)
	}
	var v verdict
	if r.GetTypeUrl() == typeURL {
		a.files, a.unnamed = files(r.GetResources())
		var ok bool
		if v, ok = s.judge(ctx, a); !ok {
			return nil, 0, false
		}
	} else {
		v.problem = fmt.Sprintf("the answer is of type %q: want %s", r.GetTypeUrl(), typeURL)
	}
	reply := &discovery.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo()}
	if v.problem == "" {
		if !v.held {
			s.version = r.GetVersionInfo()
		}
		s.refused.forget()
		return reply, 0, true
	}
	reply.VersionInfo = s.version
	reply.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: v.problem}
	pause, again := s.refused.pause(r, s.options.refusePause)
	if !again {
		s.options.Log.Warn("an xDS answer is refused", "version", r.GetVersionInfo(), "problem", v.problem)
	}
	return reply, pause, true
}
