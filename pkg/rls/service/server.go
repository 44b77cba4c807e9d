package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Options say how a server runs. Only Decider is needed.
type Options struct {
	Decider  Decider
	Observer Observer     // nil observes nothing
	Logger   *slog.Logger // nil logs nothing

	// StatsHandler is told of all that gRPC does; nil is none, which costs nothing.
	StatsHandler stats.Handler
	// Answered, if set, is told of each decision before it is sent, with the
	// context that StatsHandler made. It keeps nothing of ans.
	Answered func(ctx context.Context, ans *rls.Answer)

	// TLS is how to speak it, with h2 in NextProtos; nil is plain text.
	TLS *tls.Config

	// MaxConnectionAge is how long a client may use one connection, give or take
	// a tenth, before it is asked to open another, so that new replicas get their
	// share of long-lived connections. MaxConnectionAgeGrace is how long calls on
	// it may go on after that. 0 is without end.
	MaxConnectionAge      time.Duration
	MaxConnectionAgeGrace time.Duration

	// MaxRequestBytes is the size of the largest request; 0 is 4 MiB, gRPC's own.
	MaxRequestBytes int
	// StreamWorkers is how many goroutines wait for calls, which saves growing a
	// new stack for each; calls beyond them still get one of their own. 0 is none.
	StreamWorkers uint32
}

const (
	defaultMaxRequestBytes = 4 << 20
	// maxStreams bounds the calls under way on one connection: twice what the
	// example's circuit breaker lets an Envoy have. Beyond it Envoy opens another.
	maxStreams = 16_384

	// A connection that does not finish its handshake holds up the end of the
	// server, and a file descriptor.
	handshakeTimeout = 5 * time.Second
	// Envoy's connection keepalive may ping often, also without calls; gRPC's own
	// limit, a ping in five minutes, would cut its connection.
	minPingInterval = 100 * time.Millisecond
	// How long Stop waits, after ctx, for connections that it has cut.
	cutTimeout = time.Second
)

// healthNames are what gRPC health answers for: the server, the name that
// envoyproxy/ratelimit uses, and the service.
var healthNames = [...]string{"", "ratelimit", ServiceName}

// Server is a gRPC server of the rate limit service, gRPC health and reflection.
// Its health is NOT_SERVING until SetServing says otherwise.
type Server struct {
	grpc    *grpc.Server
	health  *health.Server
	streams *streams
}

// NewServer returns a server that does not listen yet. It may have started
// goroutines, which Stop ends.
func NewServer(o Options) *Server {
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	observed := newObservation(o.Observer, o.Logger)
	s := &Server{health: health.NewServer(), streams: newStreams(observed)}
	s.grpc = grpc.NewServer(append(transportOptions(o),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.UnaryInterceptor(observed.unary),
		grpc.StreamInterceptor(s.streams.intercept),
		grpc.UnknownServiceHandler(newUnknown(o.Observer, o.Logger).handle),
	)...)
	s.SetServing(false)
	s.grpc.RegisterService(newHandler(o, observed).describe(), o.Decider)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s
}

func transportOptions(o Options) []grpc.ServerOption {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = defaultMaxRequestBytes
	}
	options := []grpc.ServerOption{
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      o.MaxConnectionAge,
			MaxConnectionAgeGrace: o.MaxConnectionAgeGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             minPingInterval,
			PermitWithoutStream: true,
		}),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxRecvMsgSize(o.MaxRequestBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.NumStreamWorkers(o.StreamWorkers),
	}
	if o.StatsHandler != nil {
		options = append(options, grpc.StatsHandler(o.StatsHandler))
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(newHandshakes(o.TLS, o.Logger)))
	}
	return options
}

// Serve takes connections from l, which it closes in the end, until Stop; then
// it returns nil. It may be called for several listeners side by side.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}

// SetServing says what gRPC health answers, and tells those who watch it. It
// does not change whether calls are served: a server that is about to stop says
// false, goes on serving until the callers have turned away, and then stops.
// After Stop it does nothing.
func (s *Server) SetServing(serving bool) {
	state := healthv1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = healthv1.HealthCheckResponse_SERVING
	}
	for _, name := range healthNames {
		s.health.SetServingStatus(name, state)
	}
}

// Stop sets health to NOT_SERVING for good, takes no more connections, tells the
// callers to go (GOAWAY), and returns nil once all calls have ended. If ctx ends
// before that, it cuts their connections, which cancels their contexts, and
// returns an error. It does not wait for a call that ignores its context.
func (s *Server) Stop(ctx context.Context) error {
	s.health.Shutdown()
	s.streams.end()
	graceful := background(s.grpc.GracefulStop)
	select {
	case <-graceful:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-background(s.grpc.Stop):
	case <-time.After(cutTimeout):
	}
	return fmt.Errorf("gRPC calls or connections were cut: %w", context.Cause(ctx))
}

// background runs f and returns a channel that is closed when f has returned.
func background(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}
