package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestAlert has a real Prometheus scrape the server and evaluate the alerts as they
// are shipped, but for their patience: when Redis hangs, the one that says so fires,
// and ends when Redis goes on.
func TestAlert(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("prometheus is missing: run ./test.sh, or install the package prometheus: %v", err)
	}
	redis, store := startRedis(t)
	s := startRLS(t, store)
	port := startPrometheus(t, binary, s.metricsPort)
	firing := func() map[string]bool {
		var answer struct {
			Data struct {
				Alerts []struct {
					State  string
					Labels struct{ Alertname string }
				}
			}
		}
		_, body := httpGet(t.Context(), "http://127.0.0.1:"+port+"/api/v1/alerts")
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		names := map[string]bool{}
		for _, a := range answer.Data.Alerts {
			names[a.Labels.Alertname] = names[a.Labels.Alertname] || a.State == "firing"
		}
		return names
	}
	calls := func() { s.decide(t, call{"shop", []string{"remote_address", "198.51.100.7"}}) }
	eventually(t, startTimeout, "a scrape", func() bool {
		calls()
		_, body := httpGet(t.Context(), "http://127.0.0.1:"+port+"/api/v1/query?query=envoy_rls_ready")
		return strings.Contains(body, `"1"`)
	})
	// Before the first scrape nothing was up.
	eventually(t, startTimeout, "silence while all is well", func() bool { calls(); return len(firing()) == 0 })
	redis.signal(syscall.SIGSTOP)
	eventually(t, startTimeout, "the alert", func() bool { calls(); return firing()["RateLimitPolicyDecides"] })
	redis.signal(syscall.SIGCONT)
	// Policies count as deciding for ten seconds after they did.
	eventually(t, startTimeout, "its end", func() bool { calls(); return !firing()["RateLimitPolicyDecides"] })
}

// startPrometheus runs a Prometheus that scrapes a port every half second, and
// returns its own port.
func startPrometheus(t *testing.T, binary, target string) string {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	rules, err := os.ReadFile(filepath.Join(repoRoot, "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	impatient := regexp.MustCompile(`for: \d+m`).ReplaceAll(rules, []byte("for: 1s"))
	config := "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\nrule_files: [rules.yaml]\n" +
		"scrape_configs: [{job_name: envoy-rls, static_configs: [{targets: ['127.0.0.1:" + target + "']}]}]\n"
	for name, text := range map[string]string{"rules.yaml": string(impatient), "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, "prometheus", nil, binary, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:"+port, "--log.level=warn")
	p.awaitReady(t, func(ctx context.Context) bool {
		code, _ := httpGet(ctx, "http://127.0.0.1:"+port+"/-/ready")
		return code == http.StatusOK
	})
	return port
}
