package house

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// alert is a rule of deploy/prometheus/rules.yaml.
type alert struct{ Alert, Record, Expr string }

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root(t), "deploy", "prometheus", "rules.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// TestAlerts: each alert has its section in the guide, is tested, and asks for metrics
// that there are.
func TestAlerts(t *testing.T) {
	t.Parallel()
	guide := read(t, filepath.Join(root(t), "docs", "guides", "operate.md"))
	tests := read(t, filepath.Join(root(t), "deploy", "prometheus", "rules_test.yaml"))
	known := map[string]bool{}
	for _, m := range metrics(t) {
		known[m.name] = true
	}
	used := regexp.MustCompile(`\benvoy_rls_[a-z0-9_]+`)
	named := 0
	for _, a := range alerts(t) {
		for _, name := range used.FindAllString(a.Expr, -1) {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if !known[name] {
				t.Errorf("%s%s asks for %s, which is no metric", a.Alert, a.Record, name)
			}
		}
		if a.Alert == "" {
			continue
		}
		named++
		if !strings.Contains(guide, "\n### "+a.Alert+"\n") {
			t.Errorf("docs/guides/operate.md has no section %s", a.Alert)
		}
		if strings.Count(tests, "alertname: "+a.Alert+"\n")+strings.Count(tests, "alertname: "+a.Alert+" }") < 2 {
			t.Errorf("rules_test.yaml does not see %s both silent and raised", a.Alert)
		}
	}
	if sections := strings.Count(guide, "\n### RateLimit"); sections != named || named == 0 {
		t.Errorf("%d sections for %d alerts", sections, named)
	}
}

// TestDashboard: what the dashboard asks Prometheus for is there, each panel asks for
// something and says what it shows, and the queries are such.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var board struct {
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(root(t), "deploy", "grafana", "envoy-rls.json"))), &board); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"envoy_rls:denied:ratio5m": true}
	for _, m := range metrics(t) {
		known[m.name] = true
	}
	used := regexp.MustCompile(`\benvoy_rls[_:][a-z0-9_:]+`)
	var queries strings.Builder
	for _, p := range board.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q says or asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range used.FindAllString(target.Expr, -1) {
				if !known[strings.TrimSuffix(name, "_bucket")] {
					t.Errorf("panel %q asks for %s, which is no metric", p.Title, name)
				}
			}
			fmt.Fprintf(&queries, "  - {record: a:b, expr: %q}\n", strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(target.Expr))
		}
	}
	file := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(file, []byte("groups:\n- name: queries\n  rules:\n"+queries.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "check", "rules", "--lint=none", file).CombinedOutput(); err != nil || len(board.Panels) < 15 {
		t.Errorf("%d panels; promtool: %v\n%s", len(board.Panels), err, out)
	}
}

// TestPromtool has Prometheus' own tool check and test the rules.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing: run ./test.sh, or install the package prometheus: %v", err)
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(root(t), "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
