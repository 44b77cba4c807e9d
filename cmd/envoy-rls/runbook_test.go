package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every command of the runbook works as it is written, but for the ports.
func TestRunbook(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, alerts, _ := strings.Cut(string(guide), "\n## Alerts\n")
	alerts, _, _ = strings.Cut(alerts, "\n## ")
	s := start(t, "--rules="+filepath.Join("..", "..", "config"), "--store=memory://")
	until(t, "it is ready", s.ready)
	s.ask("shop", "remote_address", "192.0.2.200")
	ports := strings.NewReplacer("127.0.0.1:6070", s.addr("debug"), "127.0.0.1:9090", s.addr("metrics"))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(alerts, -1)
	if len(blocks) < 8 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			cmd := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail; "+ports.Replace(line))
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			cancel()
			// What grep does not find here are counters that have not counted yet.
			if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 && strings.Contains(line, "_total'") {
				continue
			}
			if err != nil || len(out) == 0 || strings.Contains(string(out), `"error"`) {
				t.Errorf("%s%v: %s", line, err, out)
			}
		}
	}
}
