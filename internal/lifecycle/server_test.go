package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// diary records what happened, with the time since its start.
type diary struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.start))+fmt.Sprintf(format, args...))
}

// fakePort serves nothing: its Serve ends when Stop has waited as long as calls
// take, or ctx ended.
func (d *diary) fakePort(t *testing.T, name string, calls time.Duration, late bool) Port {
	stopped := make(chan struct{})
	return Port{
		Name: name, Network: "tcp", Addr: "127.0.0.1:0", Late: late,
		Serve: func(l net.Listener) error { defer l.Close(); <-stopped; return nil },
		Stop: func(ctx context.Context) error {
			defer close(stopped)
			select {
			case <-time.After(calls):
				d.write("%s ended", name)
				return nil
			case <-ctx.Done():
				d.write("%s was cut", name)
				return ctx.Err()
			}
		},
	}
}

func (d *diary) server(ports ...Port) *Server {
	return &Server{
		Ports:           ports,
		Health:          NewHealth(Policy{WithoutRules: true}, func(ready bool) { d.write("ready %v", ready) }),
		Log:             slog.New(slog.DiscardHandler),
		Reload:          func() { d.write("reload") },
		DrainDelay:      10 * time.Second,
		ShutdownTimeout: 25 * time.Second,
		Closers:         []func() error{func() error { d.write("store closed"); return nil }},
		Tasks: []Task{{Name: "rules", Run: func(ctx context.Context) error {
			<-ctx.Done()
			d.write("task ended")
			return ctx.Err()
		}}},
	}
}

// run runs a server in a bubble of fake time, in which signals come after the
// given delays.
func run(t *testing.T, make func(*diary) *Server, signals ...any) (lines []string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{start: time.Now()}
		s := make(d)
		ch := newSignals(signals)
		s.Health.SetStore(nil)
		err = s.Run(t.Context(), ch)
		d.write("returned")
		if r := s.Health.Report(); r.State != Stopped {
			t.Errorf("state after Run is %v", r.State)
		}
		d.mu.Lock()
		lines = slices.Clone(d.lines)
		d.mu.Unlock()
	})
	return lines, err
}

func newSignals(script []any) <-chan os.Signal {
	ch := make(chan os.Signal)
	go func() {
		for _, s := range script {
			switch s := s.(type) {
			case time.Duration:
				time.Sleep(s)
			case os.Signal:
				ch <- s
			}
		}
	}()
	return ch
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("happened:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// S1: the server says that it is not ready, serves on for the delay, and only
// then stops; the store closes after the calls, the metrics after the store's
// users.
func TestS1_Drain(t *testing.T) {
	lines, err := run(t, func(d *diary) *Server {
		return d.server(d.fakePort(t, "gRPC", 2*time.Second, false), d.fakePort(t, "metrics", 0, true))
	}, 5*time.Second, syscall.SIGTERM)
	if err != nil {
		t.Error(err)
	}
	wantLines(t, lines,
		"0s ready true",
		"5s ready false",
		"17s gRPC ended",
		"17s task ended",
		"17s metrics ended",
		"17s store closed",
		"17s returned")
}

// S2: a call that does not end is cut when ShutdownTimeout has passed since the
// signal.
func TestS2_ShutdownIsBounded(t *testing.T) {
	lines, err := run(t, func(d *diary) *Server {
		return d.server(d.fakePort(t, "gRPC", time.Hour, false), d.fakePort(t, "HTTP", time.Second, false))
	}, syscall.SIGINT)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want that calls were cut", err)
	}
	wantLines(t, lines, "0s ready true", "0s ready false", "11s HTTP ended", "25s gRPC was cut",
		"25s task ended", "25s store closed", "25s returned")
}

func TestSecondSignalCutsTheEnd(t *testing.T) {
	lines, err := run(t, func(d *diary) *Server {
		return d.server(d.fakePort(t, "gRPC", time.Hour, false))
	}, syscall.SIGTERM, 3*time.Second, syscall.SIGHUP, syscall.SIGINT)
	if !errors.Is(err, ErrSecondSignal) {
		t.Errorf("err = %v", err)
	}
	wantLines(t, lines, "0s ready true", "0s ready false", "3s gRPC was cut",
		"3s task ended", "3s store closed", "3s returned")
}

// Who signals a process and then its group signals twice, and means it once.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	lines, err := run(t, func(d *diary) *Server { return d.server() },
		syscall.SIGTERM, 10*time.Millisecond, syscall.SIGTERM)
	if err != nil {
		t.Error(err)
	}
	wantLines(t, lines, "0s ready true", "0s ready false", "10s task ended", "10s store closed", "10s returned")
}

func TestHangupReloads(t *testing.T) {
	lines, err := run(t, func(d *diary) *Server { return d.server() },
		time.Second, syscall.SIGHUP, time.Second, syscall.SIGHUP, time.Second, syscall.SIGTERM)
	if err != nil {
		t.Error(err)
	}
	wantLines(t, lines, "0s ready true", "1s reload", "2s reload", "3s ready false",
		"13s task ended", "13s store closed", "13s returned")
}

// A port or a task that ends by itself ends the server, and is told of.
func TestFaultEndsServer(t *testing.T) {
	broken := errors.New("broken")
	for _, part := range []string{"serve gRPC", "rules"} {
		_, err := run(t, func(d *diary) *Server {
			s := d.server(d.fakePort(t, "gRPC", 0, false))
			if part == "rules" {
				s.Tasks[0].Run = func(context.Context) error { return broken }
			} else {
				s.Ports[0].Serve = func(l net.Listener) error { l.Close(); return broken }
			}
			return s
		})
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), part) {
			t.Errorf("err = %v, want one of %s", err, part)
		}
	}
}

// A port in use is one clear line, and the ports opened before it are closed.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	s := &Server{Ports: []Port{
		{Name: "gRPC", Network: "tcp", Addr: free.Addr().String()},
		{Name: "HTTP", Network: "tcp", Addr: taken.Addr().String()},
	}}
	err = s.Run(t.Context(), nil)
	want := fmt.Sprintf("cannot listen for HTTP on %s: address already in use", taken.Addr())
	if err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Fatalf("the port before it was left open: %v", err)
	}
	again.Close()
}

// The socket of a process that is gone is in nobody's way; a live one is.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	p := Port{Name: "gRPC", Network: "unix", Addr: path, Mode: 0o622}
	live, err := p.listen()
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	defer live.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o622 {
		t.Errorf("the socket has the rights %v, %v", info.Mode(), err)
	}
	if _, err := p.listen(); err == nil {
		t.Error("a live socket was taken over")
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Port{Network: "unix", Addr: file}).listen(); err == nil {
		t.Error("a file was taken for a stale socket")
	}
}
