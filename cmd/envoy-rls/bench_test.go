package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/bench"
)

// TestBenchChecksExactness measures a real server, which must not allow more
// than its limit on any value. (internal/bench tests that excess is found.)
func TestBenchChecksExactness(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	text := "domain: bench\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 50, algorithm: gcra}}]\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--rules="+rules)
	addr := s.addr("gRPC")
	until(t, "the rules are loaded", func() bool {
		status, _ := s.get("HTTP", "/readyz")
		return status == 200
	})
	measure := func(limit string) (bench.Result, string, error) {
		cmd := exec.Command("envoy-rls", "bench", "--addr="+addr, "--keys=zipf:20", "--connections=2", "--streams=4", "--timeout=1m",
			"--warmup=0s", "--duration=500ms", "--format=json", "--check=gcra:"+limit, fmt.Sprintf("--pid=server=%d", s.cmd.Process.Pid))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var r bench.Result
		if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
			t.Fatalf("%v: %s %s", jsonErr, out, &stderr)
		}
		return r, stderr.String(), err
	}
	r, stderr, err := measure("50/1h")
	if err != nil || r.Calls == 0 || r.MostAllowed == 0 || r.MostAllowed > r.BoundHits || r.Denied == 0 || len(r.CPUMicros) != 1 {
		t.Errorf("%v: %+v\n%s", err, r, stderr)
	}
	if !strings.Contains(stderr, " calls\n") {
		t.Errorf("no progress was told: %q", stderr)
	}
}
