package service_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// FAULTS S1: what has begun is finished, what comes later is turned away.
func TestStopLetsCallsFinish(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s, address := start(t, service.Options{StreamWorkers: 2, Decider: decide(
		func(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
			close(begun)
			<-finish
			return allow(ctx, req, ans)
		})})
	conn := dial(t, address)
	answered := make(chan error, 1)
	go func() {
		_, err := call(t, conn, &rlsv3.RateLimitRequest{})
		answered <- err
	}()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(within(t, patience)) }()
	until(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case err := <-stopped:
		t.Fatalf("Stop returned %v before the call had ended", err)
	case err := <-answered:
		t.Fatalf("the call ended early: %v", err)
	default:
	}
	close(finish)
	if err := <-answered; err != nil {
		t.Errorf("the call that had begun: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// Draining as the server does it: not healthy, but served, until Stop.
func TestDrainStillServes(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{Decider: decide(allow)})
	s.SetServing(true)
	conn := dial(t, address)
	s.SetServing(false)
	for range 10 {
		if _, err := call(t, conn, &rlsv3.RateLimitRequest{}); err != nil {
			t.Fatalf("while draining: %v", err)
		}
	}
	if err := s.Stop(within(t, patience)); err != nil {
		t.Errorf("Stop: %v", err)
	}
	s.SetServing(true) // too late; must not panic
	if _, err := call(t, conn, &rlsv3.RateLimitRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("after Stop: error %v, want Unavailable", err)
	}
}

// Calls without pause while the server stops: each is answered, or was refused
// before it began, so that Envoy may send it to another server.
func TestStopUnderTraffic(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{StreamWorkers: 4, Decider: decide(allow)})
	var callers sync.WaitGroup
	for range 8 {
		conn := dial(t, address)
		callers.Go(func() {
			for {
				if _, err := call(t, conn, &rlsv3.RateLimitRequest{}); err != nil {
					if status.Code(err) != codes.Unavailable {
						t.Errorf("error %v, want Unavailable", err)
					}
					return
				}
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := s.Stop(within(t, patience)); err != nil {
		t.Errorf("Stop: %v", err)
	}
	callers.Wait()
}

// FAULTS S2: a call that hangs does not hold up the end.
func TestStopCutsAStuckCall(t *testing.T) {
	t.Parallel()
	begun, canceled := make(chan struct{}), make(chan struct{})
	s, address := start(t, service.Options{Decider: decide(
		func(ctx context.Context, _ *rls.Request, _ *rls.Answer) error {
			close(begun)
			<-ctx.Done()
			close(canceled)
			return ctx.Err()
		})})
	conn := dial(t, address)
	answered := make(chan error, 1)
	go func() {
		_, err := call(t, conn, &rlsv3.RateLimitRequest{})
		answered <- err
	}()
	<-begun
	if err := s.Stop(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v, want one that says the time was up", err)
	}
	<-canceled
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("the call: %v, want Unavailable", err)
	}
}

// A call that ignores its context is left behind.
func TestStopDoesNotWaitForADeafCall(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s, address := start(t, service.Options{Decider: decide(
		func(context.Context, *rls.Request, *rls.Answer) error {
			close(begun)
			<-finish
			return nil
		})})
	conn := dial(t, address)
	answered := make(chan error, 1)
	go func() {
		_, err := call(t, conn, &rlsv3.RateLimitRequest{})
		answered <- err
	}()
	<-begun
	begin := time.Now()
	if err := s.Stop(within(t, 50*time.Millisecond)); err == nil {
		t.Error("Stop says that all calls have ended")
	}
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("Stop took %v", took)
	}
	close(finish)
	<-answered
}

// A client that watches health is told, and does not hold up the end.
func TestStopEndsWatches(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{Decider: decide(allow)})
	s.SetServing(true)
	watch, err := healthv1.NewHealthClient(dial(t, address)).Watch(within(t, 3*patience), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Fatalf("the watch says %v, error %v; want %v", got.GetStatus(), err, want)
		}
	}
	expect(healthv1.HealthCheckResponse_SERVING)
	s.SetServing(false)
	expect(healthv1.HealthCheckResponse_NOT_SERVING)
	if err := s.Stop(within(t, patience)); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if _, err := watch.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the watch ended with %v, want an error that makes the client try elsewhere", err)
	}
}

// A reflection client that keeps its stream open is cut at the latest.
func TestStopBoundedByOpenReflection(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{Decider: decide(allow)})
	stream, err := reflectionv1.NewServerReflectionClient(dial(t, address)).ServerReflectionInfo(within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_ = s.Stop(within(t, 50*time.Millisecond))
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("Stop took %v", took)
	}
}

// A connection that never says a word, such as a port scan's.
func TestStopBoundedBySilentConnection(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{Decider: decide(allow)})
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := call(t, dial(t, address), &rlsv3.RateLimitRequest{}); err != nil { // so that silent has been accepted
		t.Fatal(err)
	}
	begin := time.Now()
	_ = s.Stop(within(t, 50*time.Millisecond))
	if took := time.Since(begin); took > 4*time.Second { // a handshake may take 5 s
		t.Errorf("Stop took %v", took)
	}
}

func TestStopTwiceAndUnstarted(t *testing.T) {
	t.Parallel()
	s := service.NewServer(service.Options{Decider: decide(allow), StreamWorkers: 2})
	for range 2 {
		if err := s.Stop(within(t, patience)); err != nil {
			t.Error(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(listener); err != nil {
		t.Errorf("Serve after Stop: %v", err)
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
