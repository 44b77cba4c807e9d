package page

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const rules = `domain: shop
descriptors:
- {key: user, rate_limit: {unit: second, unit_multiplier: 6, requests_per_unit: 3, name: per-user}}
- {key: path, value: "/static/*", rate_limit: {unit: minute, requests_per_unit: 600}}
- {key: guest, rate_limit: {unit: hour, requests_per_unit: 2, algorithm: sliding_window_log}}
`

// server is a running envoy-rls.
type server struct{ page, json, grpcPort, rules string }

// start builds the binary and runs it until the test ends.
func start(t *testing.T, env ...string) *server {
	t.Helper()
	dir := t.TempDir()
	binary, file := filepath.Join(dir, "envoy-rls"), filepath.Join(dir, "rules.yaml")
	build := exec.Command("go", "build", "-o", binary, "./cmd/envoy-rls")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	debug, public, grpcPort := freePort(t), freePort(t), freePort(t)
	cmd := exec.Command(binary, "run", "--rules="+file, "--grpc-host=127.0.0.1", "--grpc-port="+grpcPort, "--host=127.0.0.1", "--port="+public,
		"--debug-port="+debug, "--prometheus-addr=127.0.0.1:0")
	cmd.Env = env
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // else it has ended by itself
		_ = cmd.Wait()         // says that it was killed
		if t.Failed() {
			t.Logf("log of the server:\n%s", log.String())
		}
	})
	s := &server{page: "http://127.0.0.1:" + debug, json: "http://127.0.0.1:" + public, grpcPort: grpcPort, rules: file}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if res, err := http.Get(s.json + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not become ready")
		}
	}
}

// ask sends a call.
func (s *server) ask(t *testing.T, key, value string) int {
	t.Helper()
	call := fmt.Sprintf(`{"domain":"shop","descriptors":[{"entries":[{"key":%q,"value":%q}]}]}`, key, value)
	res, err := http.Post(s.json+"/json", "application/json", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
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
