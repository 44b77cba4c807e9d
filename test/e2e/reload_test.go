package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReload changes the rules of a server under traffic, as Kubernetes changes
// a ConfigMap: the files lie behind a link to a folder, and the link is swapped.
func TestReload(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join(repoRoot, "config", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m := newConfigMap(t, string(rules))
	s := startRLS(t, "RULES="+m.dir, "STORE=memory://")
	g := startGateway(t, patient, s)
	c := g.from(t, "127.3.0.1")
	limits := func() string { return c.get("/").Header.Get("x-ratelimit-limit") }
	if !strings.Contains(limits(), `300;w=60;name="per-ip"`) {
		t.Fatalf("x-ratelimit-limit: %s", limits())
	}
	traffic := startTraffic(t, g)

	// Two changes: a watch of the file itself sees the first swap only.
	for _, amount := range []string{"700", "800"} {
		m.swap(t, strings.Replace(string(rules), "requests_per_unit: 300\n", "requests_per_unit: "+amount+"\n", 1))
		// Two seconds are promised; the rest is for a busy machine.
		eventually(t, 5*time.Second, "a limit of "+amount, func() bool {
			return strings.Contains(limits(), amount+`;w=60;name="per-ip"`)
		})
	}
	// A fault keeps the rules that are in force.
	m.swap(t, strings.Replace(string(rules), "requests_per_unit: 300\n", "requests_per_unit: many\n", 1))
	eventually(t, 5*time.Second, "a failed reload in the metrics", func() bool {
		return strings.Contains(s.metrics(t), "envoy_rls_config_last_reload_successful 0")
	})
	if !strings.Contains(limits(), `800;w=60;name="per-ip"`) {
		t.Errorf("after a faulty reload: x-ratelimit-limit: %s, want the last good 800", limits())
	}
	traffic.wantNoFailure(t, 100)
}

// TestOneBadDomain: a fault in the rules of one domain is that domain's alone,
// also at a fresh start.
func TestOneBadDomain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := func(domain, amount string) {
		text := fmt.Sprintf("domain: %s\ndescriptors:\n  - key: k\n    rate_limit: {unit: hour, requests_per_unit: %s}\n", domain, amount)
		if err := os.WriteFile(filepath.Join(dir, domain+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules("good", "1")
	rules("bad", "one")
	s := startRLS(t, "RULES="+dir, "STORE=memory://")
	if code := s.ask(t, "bad"); code != http.StatusServiceUnavailable {
		t.Errorf("a domain without good rules is answered with status %d, want 503", code)
	}
	if codes := [2]int{s.ask(t, "good"), s.ask(t, "good")}; codes != [2]int{http.StatusOK, http.StatusTooManyRequests} {
		t.Errorf("a good domain beside a bad one is answered with %v, want 200, 429", codes)
	}
	rules("bad", "1000") // mended
	eventually(t, 5*time.Second, "the mended domain is served", func() bool { return s.ask(t, "bad") == http.StatusOK })
	rules("bad", "two") // and spoilt again, while the other changes
	rules("good", "1000")
	eventually(t, 5*time.Second, "the good domain changes", func() bool { return s.ask(t, "good") == http.StatusOK })
	if code := s.ask(t, "bad"); code != http.StatusOK {
		t.Errorf("a domain with last good rules is answered with status %d, want 200", code)
	}
}

// configMap is a folder as the kubelet makes it.
type configMap struct {
	dir     string
	version int
}

func newConfigMap(t *testing.T, rules string) *configMap {
	t.Helper()
	m := &configMap{dir: t.TempDir()}
	m.swap(t, rules)
	if err := os.Symlink(filepath.Join("..data", "rules.yaml"), filepath.Join(m.dir, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	return m
}

// swap writes a new version beside the old one and turns the link to it in one
// step; then the old version goes.
func (m *configMap) swap(t *testing.T, rules string) {
	t.Helper()
	old, _ := os.Readlink(filepath.Join(m.dir, "..data"))
	m.version++
	name := "..2026_" + string(rune('a'+m.version))
	for _, err := range []error{
		os.Mkdir(filepath.Join(m.dir, name), 0o755),
		os.WriteFile(filepath.Join(m.dir, name, "rules.yaml"), []byte(rules), 0o644),
		os.Symlink(name, filepath.Join(m.dir, "..data_tmp")),
		os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if old != "" {
		if err := os.RemoveAll(filepath.Join(m.dir, old)); err != nil {
			t.Fatal(err)
		}
	}
}
