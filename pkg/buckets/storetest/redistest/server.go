package redistest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
)

// Server is a redis-server process. Its methods fail the test rather than
// return an error. They are for one goroutine at a time.
type Server struct {
	Addr string // host:port; stays the same over Restart

	t      testing.TB
	dir    string
	args   []string
	access access
	// sentinelFile is the configuration of a sentinel; "" = a server.
	sentinelFile string

	cmd    *exec.Cmd
	exited chan struct{}
	output *bytes.Buffer
}

// Start runs a server that is ready when Start returns. args are further
// settings, for example "--maxmemory", "10mb".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return launch(t, &Server{t: t, dir: t.TempDir(), args: args})
}

// launch finds a port for a server and runs it.
func launch(t testing.TB, s *Server) *Server {
	t.Helper()
	t.Cleanup(s.Kill)
	// A port that was free may be taken by the time the server binds it.
	for attempt := range 5 {
		s.Addr = freeAddr(t)
		err := s.run()
		if err == nil {
			return s
		}
		if attempt == 4 {
			t.Fatalf("redis-server: %v", err)
		}
	}
	return s
}

// Ports of servers. They lie below those that kernels give to outgoing
// connections, so that a server finds its own free again when it restarts. That
// of the cluster bus is busOffset higher.
const (
	firstPort = 10_000
	portCount = 10_000
	busOffset = 10_000
)

func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := firstPort + rand.IntN(portCount)
		if isFree(port) && isFree(port+busOffset) {
			return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
	}
	t.Fatal("no free port")
	return ""
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// Port is the port of the server.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// Dir is the folder of the server.
func (s *Server) Dir() string { return s.dir }

func (s *Server) command() []string {
	if s.sentinelFile != "" {
		return []string{s.sentinelFile, "--sentinel", "--bind", "127.0.0.1", "--port", s.Port(), "--dir", s.dir}
	}
	port := []string{"--port", s.Port()}
	if s.access.tls != nil {
		port = []string{"--port", "0", "--tls-port", s.Port()}
	}
	return append(append([]string{
		"--bind", "127.0.0.1", "--protected-mode", "yes",
		"--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--repl-diskless-sync-delay", "0",
	}, port...), s.args...)
}

func (s *Server) run() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("redis-server is not in PATH; install it: apt-get install redis-server (Debian, Ubuntu) or brew install redis (macOS)")
	}
	s.cmd = exec.Command(path, s.command()...)
	s.output = new(bytes.Buffer)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.exited = make(chan struct{})
	started := make(chan error)
	go keep(s.cmd, started, s.exited)
	if err := <-started; err != nil {
		return err
	}
	return s.waitReady()
}

// keep starts a process that dies with the test, also if that is killed, and waits
// for its end. Linux ties a process to the thread that started it: this one stays.
func keep(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(exited)
	tie(cmd)
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // how it ended is in its output
	}
}

func (s *Server) waitReady() error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-s.exited:
			return fmt.Errorf("exited at once:\n%s", s.output)
		default:
		}
		c, err := connect(s.Addr, s.access)
		if err != nil {
			continue
		}
		reply, err := c.Do("INFO", "server")
		c.close()
		// Another process may have got the port: it must be ours.
		if text, _ := reply.(string); err == nil && strings.Contains(text, "process_id:"+strconv.Itoa(s.cmd.Process.Pid)+"\r") {
			return nil
		}
	}
	s.Kill()
	return fmt.Errorf("not ready after %v:\n%s", startTimeout, s.output)
}

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Signal sends the server a signal, for example SIGSTOP: hung, with its
// connections open.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal %v: %v", sig, err)
	}
}

// Kill ends the server at once and waits until it is gone. It may be called
// more than once.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // also ends a stopped process; it may be gone already
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		s.t.Errorf("redis-server %d is still there %v after SIGKILL", s.cmd.Process.Pid, stopTimeout)
	}
}

// Running tells whether the process is there.
func (s *Server) Running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Restart ends the server, if it runs, and starts an empty one on the same
// address.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("restart redis-server: %v", err)
	}
}

// Client opens a connection to the server that the end of the test closes.
func (s *Server) Client() *Client {
	s.t.Helper()
	c, err := connect(s.Addr, s.access)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.close)
	return c
}
