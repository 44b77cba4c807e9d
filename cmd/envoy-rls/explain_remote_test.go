package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// explain --addr tells what a running server would answer: after three calls of
// three its fourth is over, and no question changes that, nor is it counted.
func TestExplainAddr(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("domain: d\ndescriptors:\n- key: user\n  rate_limit: {unit: day, requests_per_unit: 3, algorithm: fixed_window}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--rules="+rules)
	until(t, "ready", s.ready)
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("envoy-rls", append([]string{"explain", "--addr", s.addr("debug")}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	call := func(want int) {
		t.Helper()
		if status, _ := s.ask("d", "user", "ann"); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
	for range 3 {
		if text := ask("d", "user=ann"); !strings.Contains(text, "OK") || strings.Contains(text, "OVER_LIMIT") {
			t.Errorf("before the limit:\n%s", text)
		}
		call(200)
	}
	for range 3 {
		if text := ask("d", "user=ann"); !strings.Contains(text, "OVER_LIMIT") {
			t.Errorf("at the limit:\n%s", text)
		}
	}
	if text := ask("--hits", "3", "d", "user=bob"); strings.Contains(text, "OVER_LIMIT") {
		t.Errorf("three of three:\n%s", text)
	}
	if text := ask("--hits", "4", "d", "user=bob"); !strings.Contains(text, "OVER_LIMIT") {
		t.Errorf("four of three:\n%s", text)
	}
	if text := ask("d", "nothing=1"); !strings.Contains(text, "nothing") {
		t.Errorf("a descriptor without a rule:\n%s", text)
	}
	if text := ask("--hits", "3", "d", "user=bob"); !strings.Contains(text, "would pass at a cost of 3, charges nothing: remaining 3") {
		t.Errorf("a look does not tell the cost:\n%s", text)
	}
	call(429)
	_, text := s.get("metrics", "/metrics")
	for _, want := range []string{`{code="ok",domain="d",rule="d/user",shadow="false"} 3`, `{code="over_limit",domain="d",rule="d/user",shadow="false"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("not the four calls alone were counted: no %s", want)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "envoy_rls_unmatched_total") && !strings.HasSuffix(line, " 0\n") {
			t.Errorf("a question was counted: %s", line)
		}
	}
}
