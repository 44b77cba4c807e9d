package redistest

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServer(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client()
	if got := c.MustDo(t, "PING"); got != "PONG" {
		t.Errorf("PING = %v", got)
	}
	odd := "a\x00b\r\n{c} \xff"
	c.MustDo(t, "SET", odd, odd)
	if got := string(c.Get(t, odd)); got != odd {
		t.Errorf("GET = %q", got)
	}
	if got := c.Get(t, "none"); got != nil {
		t.Errorf("GET none = %q", got)
	}
	var failed Error
	if _, err := c.Do("EVALSHA", strings.Repeat("0", 40), "0"); !errors.As(err, &failed) || !strings.HasPrefix(string(failed), "NOSCRIPT") {
		t.Errorf("EVALSHA = %v, want NOSCRIPT", err)
	}
	reply := c.MustDo(t, "EVAL", "return {1, 'two', false, {3}}", "0").([]any)
	if len(reply) != 4 || reply[0] != int64(1) || reply[1] != "two" || reply[2] != nil {
		t.Errorf("EVAL = %#v", reply)
	}
}

func TestRestartIsEmptyOnTheSameAddress(t *testing.T) {
	t.Parallel()
	s := Start(t, "--maxmemory", "50mb")
	s.Client().MustDo(t, "SET", "a", "b")
	before, pid := s.Addr, s.Pid()
	s.Restart()
	if s.Addr != before || s.Pid() == pid {
		t.Errorf("restarted at %s with pid %d; was %s, %d", s.Addr, s.Pid(), before, pid)
	}
	if got := s.Client().Get(t, "a"); got != nil {
		t.Errorf("GET after restart = %q", got)
	}
}

func TestStoppedServerHangsAndCanBeKilled(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Signal(syscall.SIGSTOP)
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("PING\r\n"))
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := conn.Read(make([]byte, 8)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stopped server answered: %v", err)
	}
	s.Kill()
	s.Kill()
	if _, err := net.DialTimeout("tcp", s.Addr, time.Second); err == nil {
		t.Error("a killed server still accepts")
	}
}
