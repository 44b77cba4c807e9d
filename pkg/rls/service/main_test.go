package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far longer than anything here takes.
const patience = 20 * time.Second

// decide is a Decider of one function.
type decide func(ctx context.Context, req *rls.Request, ans *rls.Answer) error

func (d decide) Decide(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
	return d(ctx, req, ans)
}

// allow answers OK, with a bare status for each descriptor.
func allow(_ context.Context, req *rls.Request, ans *rls.Answer) error {
	ans.Code = rls.OK
	for range req.Descriptors {
		ans.Statuses = append(ans.Statuses, rls.Status{Code: rls.OK})
	}
	return nil
}

// notes is an Observer that remembers.
type notes struct {
	mu     sync.Mutex
	calls  []string // method and code
	panics int
}

func (n *notes) Call(method string, code codes.Code, elapsed time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if elapsed < 0 {
		method += " in negative time"
	}
	n.calls = append(n.calls, fmt.Sprintf("%s %s", method, code))
}

func (n *notes) Panic() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.panics++
}

// lines is where a test's logs go.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// start serves o on a free port of the loopback until the test ends.
func start(tb testing.TB, o service.Options) (s *service.Server, address string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s = service.NewServer(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is still open at the end of a test is cut
		_ = s.Stop(ctx)
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return s, listener.Addr().String()
}

func dial(tb testing.TB, address string, options ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

func call(tb testing.TB, conn *grpc.ClientConn, req *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	tb.Helper()
	return rlsv3.NewRateLimitServiceClient(conn).ShouldRateLimit(within(tb, patience), req)
}

// raw is a client's codec that sends and receives bytes as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func callRaw(ctx context.Context, conn *grpc.ClientConn, method string, data []byte) (reply []byte, err error) {
	err = conn.Invoke(ctx, method, data, &reply, grpc.ForceCodecV2(raw{}))
	return reply, err
}
