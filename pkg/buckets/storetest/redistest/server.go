package redistest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	cmd    *exec.Cmd
	exited chan struct{}
	output *bytes.Buffer
}

// Start runs a server that is ready when Start returns. args are further
// settings, for example "--maxmemory", "10mb".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), args: args}
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

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *Server) run() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("redis-server is not in PATH; install it: apt-get install redis-server (Debian, Ubuntu) or brew install redis (macOS)")
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	s.cmd = exec.Command(path, append([]string{
		"--bind", "127.0.0.1", "--port", port, "--protected-mode", "yes",
		"--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, s.args...)...)
	s.output = new(bytes.Buffer)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended is in its output
		close(exited)
	}(s.cmd, s.exited)
	return s.waitReady()
}

func (s *Server) waitReady() error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-s.exited:
			return fmt.Errorf("exited at once:\n%s", s.output)
		default:
		}
		conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
		if err != nil {
			continue
		}
		c := &Client{conn: conn}
		reply, err := c.Do("INFO", "server")
		_ = conn.Close()
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
	return Dial(s.t, s.Addr)
}
