package house

import (
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
