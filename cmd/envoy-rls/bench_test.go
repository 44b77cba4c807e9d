package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/bench"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
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

// TestBenchInProcess decides without a server, on either store, and holds what was
// allowed to the limit that --check names.
func TestBenchInProcess(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	for _, args := range [][]string{
		{"--store=memory://", "--check=gcra:50/1h"},
		{"--store=memory://", "--check=sliding_window_log:50/60s", "--hits=2"},
		{"--store=redis://" + redis.Addr, "--check=token_bucket:50/1h", "--descriptors=user,b"},
	} {
		out, err := exec.Command("envoy-rls", append([]string{"bench", "--in-process", "--keys=uniform:10", "--connections=1", "--streams=8",
			"--timeout=1m", "--warmup=0s", "--duration=500ms", "--format=json"}, args...)...).Output()
		var r bench.Result
		if jsonErr := json.Unmarshal(out, &r); err != nil || jsonErr != nil {
			t.Fatalf("%v: %v %v %s", args, err, jsonErr, out)
		}
		if r.Calls < 100 || r.Denied == 0 || r.MostAllowed < 40 || r.MostAllowed > r.BoundHits || r.Descriptors == 0 {
			t.Errorf("%v: %+v", args, r)
		}
	}
	for arg, want := range map[string]string{
		"--algorithm=x":          "--algorithm=x: want one of",
		"--check=gcra:50/1500ms": "is not of whole seconds",
		"--store=memcache://m":   "--store",
	} {
		out, err := exec.Command("envoy-rls", "bench", "--in-process", arg).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v %s", arg, err, out)
		}
	}
}
