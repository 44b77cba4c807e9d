package soak

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

const startsWithin = 30 * time.Second

// server is a running envoy-rls.
type server struct {
	addr string
	pid  int
}

// startServer builds the binary as it is shipped, without the race detector, whose
// memory grows, and runs it until the test ends.
func startServer(t *testing.T, store, rules string) *server {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "envoy-rls")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/envoy-rls")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "memory://"
	if store == "redis" {
		url = "redis://" + redistest.Start(t).Addr
	}
	port := freePort(t)
	cmd := exec.Command(binary, "run", "--rules="+file, "--store="+url, "--store-timeout=2s", "--log-level=warn",
		"--grpc-host=127.0.0.1", "--grpc-port="+port, "--host=127.0.0.1", "--port=0", "--debug-port=0", "--prometheus-addr=127.0.0.1:0")
	var log strings.Builder
	cmd.Stderr = &log
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL) // else it has ended by itself
		_ = cmd.Wait()                          // says that it was killed
		if t.Failed() {
			t.Logf("log of the server:\n%s", log.String())
		}
	})
	s := &server{addr: "127.0.0.1:" + port, pid: cmd.Process.Pid}
	for deadline := time.Now().Add(startsWithin); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
			time.Sleep(500 * time.Millisecond) // for rules and store
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen: %v", err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// watchMemory samples what the process holds in memory, in bytes, while it is
// under load.
func (s *server) watchMemory(t *testing.T, duration time.Duration) []uint64 {
	t.Helper()
	const samples = 80
	var held []uint64
	for range samples {
		time.Sleep(duration / samples)
		held = append(held, s.memory(t))
	}
	return held
}

func (s *server) memory(t *testing.T) uint64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
