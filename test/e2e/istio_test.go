package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startRatelimit starts the binary as gateways do: under the name ratelimit,
// without arguments, in exactly this environment.
func startRatelimit(t *testing.T, env []string) *process {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ratelimit")
	if err := os.Symlink(rlsBinary, binary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = env
	return startCommand(t, "ratelimit", cmd)
}

// awaitHealthcheck waits until /healthcheck is as envoyproxy/ratelimit answers it.
func (s *rls) awaitHealthcheck(t *testing.T) {
	t.Helper()
	s.awaitReady(t, func(ctx context.Context) bool {
		code, body := httpGet(ctx, "http://127.0.0.1:"+s.httpPort+"/healthcheck")
		return code == http.StatusOK && body == "OK"
	})
}

// TestIstioSample: the environment of Istio's sample Deployment, with addresses and
// ports of this test, and its ConfigMap at /data/ratelimit/config, with the links
// that the kubelet makes. It serves as envoyproxy/ratelimit does, and a change of
// the ConfigMap is live within two seconds.
func TestIstioSample(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := filepath.Join(root, "ratelimit", "config")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	rules := func(amount string) string {
		return "domain: ratelimit\ndescriptors:\n- {key: PATH, value: /productpage, rate_limit: {unit: year, requests_per_unit: " + amount + "}}\n"
	}
	m := &configMap{dir: folder}
	m.swap(t, rules("1"))
	if err := os.Symlink(filepath.Join("..data", "rules.yaml"), filepath.Join(folder, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	_, store := startRedis(t)
	redis := strings.TrimSuffix(strings.TrimPrefix(store, "STORE=redis://"), "/0")

	s := &rls{grpcPort: freePort(t), httpPort: freePort(t), metricsPort: freePort(t)}
	s.process = startRatelimit(t, []string{
		"LOG_LEVEL=debug", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + redis, "USE_STATSD=false",
		"RUNTIME_ROOT=" + root, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false", "RUNTIME_IGNOREDOTFILES=true",
		"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1",
		// Not Istio's: the ports of this test, and what Kubernetes injects.
		"PORT=" + s.httpPort, "GRPC_PORT=" + s.grpcPort, "DEBUG_PORT=" + freePort(t), "PROMETHEUS_ADDR=127.0.0.1:" + s.metricsPort,
		"REDIS_PORT=tcp://10.0.0.1:6379", "REDIS_SERVICE_HOST=10.0.0.1", "RATELIMIT_PORT_8081_TCP=tcp://10.0.0.2:8081",
	})
	s.awaitHealthcheck(t)

	page := call{"ratelimit", []string{"PATH", "/productpage"}}
	if got := []verdict{s.decide(t, page), s.decide(t, page), s.decide(t, page)}; got[0] != (verdict{200, 1}) || got[2] != (verdict{429, 1}) {
		t.Errorf("a limit of 1 a year is answered with %v", got)
	}
	m.swap(t, rules("1000"))
	// Two seconds are promised; the rest is for a busy machine.
	eventually(t, 5*time.Second, "the raised limit", func() bool { return s.decide(t, page) == verdict{200, 1000} })

	out := s.out.String()
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "level=WARN") && !strings.Contains(line, "does not answer yet") {
			t.Errorf("Istio's sample is warned of: %s", line)
		}
	}
	if !strings.Contains(s.metrics(t), "ratelimit_service_rate_limit_total_hits{") {
		t.Error("there are no metrics under envoyproxy/ratelimit's names")
	}
}
