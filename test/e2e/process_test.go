package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a part may take to come up on a busy machine.
const startTimeout = 30 * time.Second

// process is a running part. Its output is shown if the test fails.
type process struct {
	name string
	cmd  *exec.Cmd
	out  lockedBuffer
	done chan struct{} // closed when it has ended
}

// start runs a program in a process group of its own and stops it when the test
// is over.
func start(t *testing.T, name string, env []string, binary string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = repoRoot
	cmd.Env = append(os.Environ(), env...)
	return startCommand(t, name, cmd)
}

// startCommand is start for a command of its own folder and environment.
func startCommand(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{name: name, cmd: cmd, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	p.cmd.SysProcAttr.Setpgid = true
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		out := p.out.String()
		if strings.Contains(out, "DATA RACE") {
			t.Errorf("%s reports a data race", name)
		}
		if strings.Contains(out, "panic:") {
			t.Errorf("%s panicked", name)
		}
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(out, 6000))
		}
	})
	return p
}

// signal sends a signal to the process itself.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process and what it started.
func (p *process) kill() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGCONT)
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		t.Fatalf("%s still runs after %v", p.name, within)
		return -1
	}
}

// awaitReady calls ready until it is true, the process ends or time is up.
func (p *process) awaitReady(t *testing.T, ready func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for !ready(ctx) {
		select {
		case <-p.done:
			t.Fatalf("%s ended at its start", p.name)
		case <-ctx.Done():
			t.Fatalf("%s is not ready after %v", p.name, startTimeout)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// eventually calls ok until it is true.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("after %v: %s", time.Since(begin).Round(time.Millisecond), what)
}

// freePort returns a port of 127.0.0.1 that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}
