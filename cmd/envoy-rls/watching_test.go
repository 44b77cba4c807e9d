package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/envoy-rls/envoy-rls/internal/admin"
	"github.com/envoy-rls/envoy-rls/internal/live"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

const watchedRules = `domain: d
descriptors:
- {key: user, rate_limit: {unit: year, requests_per_unit: 2, algorithm: fixed_window, name: per-user}}
- {key: api_key, sensitive: true, value_to_metric: true, rate_limit: {unit: year, requests_per_unit: 1, name: per-key}}
`

// rulesFile writes rules into a folder of the test.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// admin asks the API; a body makes it a POST.
func (s *server) admin(path, text string) (int, string) {
	s.t.Helper()
	if text == "" {
		return s.get("debug", path)
	}
	return body(s.t)(http.Post("http://"+s.addr("debug")+path, "application/json", strings.NewReader(text)))
}

func callOf(key, value string) string {
	return fmt.Sprintf(`{"domain":"d","descriptors":[{"entries":[{"key":%q,"value":%q}]}]}`, key, value)
}

// decodeStrictly fails on fields that the document of the API does not have.
func decodeStrictly(t *testing.T, text string, to any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// A reset frees a denied caller at once on the server that was asked, and within a
// second on the others, which remember denials for so long. It is logged.
func TestResetFreesOnEveryReplica(t *testing.T) {
	t.Parallel()
	redis, rules := redistest.Start(t), rulesFile(t, watchedRules)
	var replicas []*server
	for range 2 {
		replicas = append(replicas, start(t, "--rules="+rules, "--store=redis://"+redis.Addr, "--store-timeout=5s"))
	}
	asked, other := replicas[0], replicas[1]
	for _, s := range replicas {
		until(t, "it is ready", s.ready)
	}
	for range 2 {
		if code, text := asked.ask("d", "user", "ann"); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
	}
	for _, s := range replicas { // and both remember
		if code, _ := s.ask("d", "user", "ann"); code != 429 {
			t.Fatalf("%d, want a denial", code)
		}
	}
	var held admin.Buckets
	if code, text := asked.admin("/api/buckets", callOf("user", "ann")); code != 200 {
		t.Fatalf("buckets: %d %s", code, text)
	} else {
		decodeStrictly(t, text, &held)
	}
	if store, local := held.Store.Descriptors[0].Limits[0], held.Local.Descriptors[0].Limits[0]; store.Remaining != 0 || local.Remaining != 2 || store.Key != local.Key {
		t.Errorf("the store holds %+v, this process %+v", store, local)
	}
	if code, text := asked.admin("/api/reset", callOf("user", "ann")); code != 200 || !strings.Contains(text, `"remaining":2`) {
		t.Fatalf("reset: %d %s", code, text)
	}
	reset := time.Now()
	if code, text := asked.ask("d", "user", "ann"); code != 200 {
		t.Errorf("the next call on the server that was asked: %d %s", code, text)
	}
	until(t, "the other server lets the caller through", func() bool {
		code, _ := other.ask("d", "user", "ann")
		return code == 200
	})
	t.Logf("the other server let it through after %v", time.Since(reset))
	records := asked.logged("buckets were reset by the admin API")
	if len(records) != 1 || fmt.Sprint(records[0]["descriptors"], records[0]["rules"]) != "[user=ann] [per-user]" || records[0]["client"] == "" {
		t.Errorf("logged %v", records)
	}
	if code, text := asked.admin("/api/grant", strings.Replace(callOf("user", "ann"), "{", `{"hitsAddend":1,`, 1)); code != 200 || !strings.Contains(text, `"remaining":1`) {
		t.Errorf("grant: %d %s", code, text)
	}
}

// From the address of one server an operator finds domain, rule and place, the
// hottest value, and which policy decides.
func TestLive(t *testing.T) {
	t.Parallel()
	s := start(t, "--rules="+rulesFile(t, watchedRules), "--store=memory://", "--admin-token=hunter2")
	until(t, "it is ready", s.ready)
	ask := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addr("debug")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := body(t)(http.DefaultClient.Do(req)); code != http.StatusUnauthorized {
			t.Fatalf("%s without a token: %d", path, code)
		}
		req.Header.Set("Authorization", "Bearer hunter2")
		code, text := body(t)(http.DefaultClient.Do(req))
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, text)
		}
		return text
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			s.ask("d", "user", "ann")
			time.Sleep(20 * time.Millisecond)
		}
	}()
	var seen live.Snapshot
	decodeStrictly(t, ask("/api/live?seconds=1"), &seen)
	<-done
	if len(seen.Rules) != 1 || seen.Rules[0].Domain != "d" || seen.Rules[0].Rule != "per-user" || !strings.HasSuffix(seen.Rules[0].Place, "rules.yaml:3:27") ||
		len(seen.Hot) != 1 || seen.Hot[0].Value != "user=ann" || len(seen.Denials) == 0 {
		t.Errorf("%+v", seen)
	}
	var state admin.State
	decodeStrictly(t, ask("/api/state"), &state)
	if !state.Ready || state.Rules.Limits != 2 || state.Rules.Generation != 1 || !state.Store.Answers || state.LogLevel != "INFO" {
		t.Errorf("%+v", state)
	}
	var rules admin.Rules
	decodeStrictly(t, ask("/api/rules"), &rules)
	if len(rules.InForce) != 2 || rules.InForce[1].Rule != "per-user" || rules.InForce[1].Amount != 2 || rules.InForce[1].Burst != 2 {
		t.Errorf("%+v", rules)
	}
	for _, token := range []string{"ADMIN_TOKEN=hunter2", "ADMIN_TOKEN="} {
		cmd := exec.Command("envoy-rls", "explain", "--addr", s.addr("debug"), "d", "user=bob")
		cmd.Env = append(os.Environ(), token)
		if out, err := cmd.CombinedOutput(); (err == nil) != (token == "ADMIN_TOKEN=hunter2") || err != nil && !strings.Contains(string(out), "set ADMIN_TOKEN") {
			t.Errorf("explain --addr with %s: %v %s", token, err, out)
		}
	}
	if text := s.text(); strings.Contains(text, "hunter2") {
		t.Error("the token is in the log")
	}
}

// Answers are whole and valid while rules change under many who ask.
func TestAPIUnderReloads(t *testing.T) {
	t.Parallel()
	file := rulesFile(t, watchedRules)
	s := start(t, "--rules="+file, "--store=memory://")
	until(t, "it is ready", s.ready)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for n := range 200 {
		path := []string{"/api/state", "/api/rules", "/api/", "/api/log-level"}[n%4]
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if code, text := s.admin(path, ""); code != 200 || !json.Valid([]byte(text)) {
					t.Errorf("%s: %d %.200s", path, code, text)
					return
				}
			}
		})
	}
	for n := range 100 {
		text := strings.Replace(watchedRules, "requests_per_unit: 2", fmt.Sprintf("requests_per_unit: %d", 3+n), 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, text := s.admin("/api/reload", "{}"); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
	}
	until(t, "the last rules are in force", func() bool {
		_, text := s.admin("/api/rules", "")
		return strings.Contains(text, `"requests_per_unit":102`)
	})
	close(stop)
	clients.Wait()
}

// The value of a sensitive rule is nowhere: not in what Redis is told or keeps, not
// in the log, the traces, the metrics or the API.
func TestSensitiveValuesAreNowhere(t *testing.T) {
	t.Parallel()
	const value = "sk-live-0123456789"
	redis := redistest.Start(t)
	monitor := watchCommands(t, redis)
	spans, collector := collectSpans(t)
	s := startIn(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector}, "--rules="+rulesFile(t, watchedRules), "--store=redis://"+redis.Addr, "--store-timeout=5s", "--log-level=debug")
	until(t, "it is ready", s.ready)
	var seen strings.Builder
	watched := make(chan string)
	go func() { _, text := s.admin("/api/live?seconds=2", ""); watched <- text }()
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		s.ask("d", "api_key", value) // allowed once, then denied
	}
	live := <-watched
	if !strings.Contains(live, "per-key") {
		t.Fatalf("nothing was watched: %s", live)
	}
	seen.WriteString(live)
	for path, text := range map[string]string{"/api/explain": callOf("api_key", value), "/api/reset": callOf("api_key", value), "/api/rules": "", "/api/state": ""} {
		_, answer := s.admin(path, text)
		fmt.Fprintln(&seen, answer)
	}
	_, metrics := s.get("metrics", "/metrics")
	client := redis.Client()
	for _, key := range client.MustDo(t, "KEYS", "*").([]any) {
		fmt.Fprintln(&seen, key, client.MustDo(t, "GET", key.(string)))
	}
	callOverGRPC(t, s.addr("gRPC"), "api_key", value)
	s.cmd.Process.Signal(syscall.SIGTERM) // which sends the spans that wait
	<-s.done
	if !strings.Contains(spans(), "ratelimit.rule") {
		t.Fatalf("no span came: %q", spans())
	}
	fmt.Fprintln(&seen, metrics, s.text(), monitor(), spans())
	if !strings.Contains(seen.String(), "evalsha") && !strings.Contains(seen.String(), "eval") {
		t.Fatal("Redis was not watched")
	}
	if at := strings.Index(seen.String(), value); at >= 0 {
		text := seen.String()
		t.Errorf("the value is in …%s…", text[max(0, at-200):min(len(text), at+100)])
	}
}

// collectSpans receives OTLP over HTTP and returns what has come, as it came: texts
// stand in protobuf as they are.
func collectSpans(t *testing.T) (spans func() string, url string) {
	t.Helper()
	var mu sync.Mutex
	var all strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			in = unpacked
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := io.Copy(&all, in); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}, server.URL
}

// callOverGRPC makes a call of one entry.
func callOverGRPC(t *testing.T, addr, key, value string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = rlsv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &rlsv3.RateLimitRequest{
		Domain: "d", Descriptors: []*ratelimitv3.RateLimitDescriptor{{Entries: []*ratelimitv3.RateLimitDescriptor_Entry{{Key: key, Value: value}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// watchCommands returns what tells all commands that a Redis has run.
func watchCommands(t *testing.T, redis *redistest.Server) func() string {
	t.Helper()
	client := redis.Client()
	client.MustDo(t, "CONFIG", "SET", "slowlog-log-slower-than", "0")
	client.MustDo(t, "CONFIG", "SET", "slowlog-max-len", "10000")
	return func() string { return fmt.Sprintf("%q", client.MustDo(t, "SLOWLOG", "GET", "-1")) }
}
