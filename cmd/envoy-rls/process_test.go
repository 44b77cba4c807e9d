package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// patience bounds every wait of these tests; nothing is expected to take it.
const patience = 20 * time.Second

// server is a running process.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu  sync.Mutex
	log []map[string]any
	raw []string
}

// start starts the command on free ports of the loopback address.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	return startIn(t, []string{}, args...)
}

// startIn is start in an environment.
func startIn(t *testing.T, environ []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, done: make(chan struct{})}
	s.cmd = exec.Command("envoy-rls", append([]string{"run", "--log-format=json",
		"--grpc-host=127.0.0.1", "--grpc-port=0", "--host=127.0.0.1", "--port=0",
		"--debug-port=0", "--prometheus-addr=127.0.0.1:0", "--drain-delay=1s", "--shutdown-timeout=10s"}, args...)...)
	s.cmd.Env = environ
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); s.read(out) }()
	go func() { <-read; s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.done
		if t.Failed() {
			t.Log("log of the server:\n" + strings.Join(s.raw, "\n"))
		}
	})
	return s
}

func (s *server) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		record := map[string]any{}
		json.Unmarshal(lines.Bytes(), &record)
		s.mu.Lock()
		s.log, s.raw = append(s.log, record), append(s.raw, lines.Text())
		s.mu.Unlock()
	}
}

// logged lists the records with a message.
func (s *server) logged(msg string) (found []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.log {
		if text, _ := r["msg"].(string); strings.Contains(text, msg) {
			found = append(found, r)
		}
	}
	return found
}

// text is the log as it was written.
func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.raw, "\n")
}

// until waits for something to be so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// addr is where a port of the server listens.
func (s *server) addr(name string) string {
	s.t.Helper()
	var addr string
	until(s.t, name+" listens", func() bool {
		for _, r := range s.logged("listening") {
			if r["for"] == name {
				addr = r["addr"].(string)
			}
		}
		return addr != ""
	})
	return addr
}

func (s *server) get(port, path string) (int, string) {
	s.t.Helper()
	return body(s.t)(http.Get("http://" + s.addr(port) + path))
}

// ask sends a call over /json.
func (s *server) ask(domain, key, value string) (int, string) {
	s.t.Helper()
	call := fmt.Sprintf(`{"domain":%q,"descriptors":[{"entries":[{"key":%q,"value":%q}]}]}`, domain, key, value)
	return body(s.t)(http.Post("http://"+s.addr("HTTP")+"/json", "application/json", strings.NewReader(call)))
}

func body(t *testing.T) func(*http.Response, error) (int, string) {
	t.Helper()
	return func(resp *http.Response, err error) (int, string) {
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
}

func (s *server) ready() bool {
	code, _ := s.get("HTTP", "/healthcheck")
	return code == http.StatusOK
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// exits waits for the end and tells the exit code.
func (s *server) exits() int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the server does not end")
		return 0
	}
}

func writeRules(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func limitTo(domain string, n int) string {
	return fmt.Sprintf("domain: %s\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: %d}}]\n", domain, n)
}

// One life: it starts, decides, reloads when told, drains and ends.
func TestLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "shop.yaml", limitTo("shop", 2))
	s := start(t, "--rules="+dir)
	until(t, "it is ready", s.ready)

	for i, want := range []int{200, 200, 429} {
		if got, text := s.ask("shop", "user", "ann"); got != want {
			t.Errorf("call %d: %d, want %d: %s", i, got, want, text)
		}
	}
	if code, text := s.get("debug", "/rlconfig"); code != 200 || !strings.HasPrefix(text, "shop/user: unit=DAY requests_per_unit=2") {
		t.Errorf("/rlconfig: %d %s", code, text)
	}
	if code, text := s.get("metrics", "/metrics"); code != 200 ||
		!strings.Contains(text, `envoy_rls_decisions_total{code="over_limit",domain="shop",rule="shop/user",shadow="false"} 1`) {
		t.Errorf("/metrics: %d %s", code, text)
	}

	conn, err := grpc.NewClient(s.addr("gRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	serving := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		resp, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{Service: "ratelimit"})
		if err != nil {
			return err.Error()
		}
		return resp.Status.String()
	}
	if got := serving(); got != "SERVING" {
		t.Errorf("gRPC health: %s", got)
	}

	writeRules(t, dir, "shop.yaml", limitTo("shop", 10))
	s.signal(syscall.SIGHUP)
	until(t, "the raised limit is in force", func() bool { code, _ := s.ask("shop", "user", "ann"); return code == 200 })

	s.signal(syscall.SIGTERM)
	until(t, "it drains", func() bool { return !s.ready() })
	if got := serving(); got != "NOT_SERVING" {
		t.Errorf("gRPC health while draining: %s", got)
	}
	if code, text := s.ask("shop", "user", "bob"); code != 200 {
		t.Errorf("a call while draining: %d %s", code, text)
	}
	if code := s.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// L5: a bad domain touches no other, keeps its last good rules, and is seen
// from outside; a fresh start with it is ready for the others.
func TestL5_BadDomain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "shop.yaml", limitTo("shop", 1))
	writeRules(t, dir, "cart.yaml", "domain: cart\ndescriptors: [{key: user, rate_limit: {unit: fortnight, requests_per_unit: 1}}]\n")
	s := start(t, "--rules="+dir)
	until(t, "it is ready", s.ready)
	if code, text := s.ask("shop", "user", "ann"); code != 200 {
		t.Errorf("shop: %d %s", code, text)
	}
	if code, text := s.ask("cart", "user", "ann"); code != 503 {
		t.Errorf("cart: %d %s", code, text)
	}
	if _, text := s.get("HTTP", "/readyz"); !strings.Contains(text, `domain "cart"`) {
		t.Errorf("/readyz does not name the rejected domain: %s", text)
	}
	successful := func(want string) func() bool {
		return func() bool {
			_, text := s.get("metrics", "/metrics")
			return strings.Contains(text, "envoy_rls_config_last_reload_successful "+want)
		}
	}
	if !successful("0")() {
		t.Error("config_last_reload_successful is not 0")
	}

	writeRules(t, dir, "cart.yaml", limitTo("cart", 1))
	until(t, "the mended domain serves", func() bool { code, _ := s.ask("cart", "user", "ann"); return code == 200 })
	until(t, "the reload is successful", successful("1"))
	writeRules(t, dir, "cart.yaml", "domain: cart\ndescriptors: [{key: user, rate_limit: {unit: fortnight, requests_per_unit: 1}}]\n")
	until(t, "the error is seen", successful("0"))
	if code, text := s.ask("cart", "user", "ann"); code != 429 {
		t.Errorf("cart lost its last good rules: %d %s", code, text)
	}
	if n := len(s.logged("fortnight")); n != 2 {
		t.Errorf("the error was logged %d times, want once for each time it came up", n)
	}
}

// L6: a folder that is not there is waited for; FORCE_START… does not wait.
func TestL6_MissingFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	s := start(t, "--rules="+dir)
	s.addr("HTTP")
	if code, text := s.get("HTTP", "/readyz"); code != 503 || !strings.Contains(text, "no rules") {
		t.Errorf("/readyz: %d %s", code, text)
	}
	if code, _ := s.get("HTTP", "/livez"); code != 200 {
		t.Errorf("/livez: %d", code)
	}
	if code, text := s.ask("shop", "user", "ann"); code != 503 {
		t.Errorf("a call without rules: %d %s", code, text)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeRules(t, dir, "shop.yaml", limitTo("shop", 1))
	until(t, "it is ready", s.ready)

	forced := start(t, "--rules="+filepath.Join(dir, "none"), "--force-start-without-initial-config")
	until(t, "it is ready without rules", forced.ready)
}

// S3: ports open while the store does not answer; the server is alive, not
// ready, and ends when told.
func TestS3_StoreIsDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "shop.yaml", limitTo("shop", 1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there
	s := start(t, "--rules="+dir, "--store=redis://:hunter2@"+l.Addr().String(), "--drain-delay=0s")
	if code, _ := s.get("HTTP", "/livez"); code != 200 {
		t.Errorf("/livez: %d", code)
	}
	until(t, "the rules are loaded", func() bool { return len(s.logged("rules loaded")) > 0 })
	if code, text := s.get("HTTP", "/readyz"); code != 503 || !strings.Contains(text, "the store has not answered yet") {
		t.Errorf("/readyz: %d %s", code, text)
	}
	if code, text := s.ask("shop", "user", "ann"); code != 503 {
		t.Errorf("a call without the store: %d %s", code, text)
	}
	s.signal(syscall.SIGINT)
	if code := s.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range s.raw {
		if strings.Contains(line, "hunter2") {
			t.Errorf("the log shows the password: %s", line)
		}
	}
}

// A port in use is one clear line and exit code 1; that of the metrics too (M4:
// a place for metrics that does not work is not passed over).
func TestM4PortInUse(t *testing.T) {
	t.Parallel()
	for name, flag := range map[string]string{"HTTP": "--port=", "metrics": "--prometheus-addr=127.0.0.1:"} {
		t.Run(name, func(t *testing.T) { testPortInUse(t, flag, name) })
	}
}

func testPortInUse(t *testing.T, flag, name string) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s := start(t, flag+port)
	if code := s.exits(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	want := "Error: cannot listen for " + name + " on " + l.Addr().String() + ": address already in use"
	if last := s.raw[len(s.raw)-1]; last != want {
		t.Errorf("%q, want %q", last, want)
	}
}

// A second signal does not wait for the drain.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRules(t, dir, "shop.yaml", limitTo("shop", 1))
	s := start(t, "--rules="+dir, "--drain-delay=1h", "--shutdown-timeout=2h")
	until(t, "it is ready", s.ready)
	s.signal(syscall.SIGTERM)
	until(t, "it drains", func() bool { return len(s.logged("draining")) > 0 })
	time.Sleep(time.Second) // signals in quick succession are one
	s.signal(syscall.SIGTERM)
	if code := s.exits(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}
