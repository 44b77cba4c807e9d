package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Paths of the real parts. Set once, before any test runs.
var (
	repoRoot    string
	rlsBinary   string
	envoyBinary string
	redisBinary string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "envoy-rls-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := findParts(dir); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

func findParts(dir string) (err error) {
	if repoRoot, err = filepath.Abs("../.."); err != nil {
		return err
	}
	if redisBinary, err = exec.LookPath("redis-server"); err != nil {
		return fmt.Errorf("redis-server is missing: run ./test.sh, or install the package redis-server: %w", err)
	}
	envoyBinary = os.Getenv("ENVOY_BIN")
	if envoyBinary == "" {
		envoyBinary = filepath.Join(repoRoot, ".cache", "envoy-venv", "bin", "envoy")
	}
	if _, err := os.Stat(envoyBinary); err != nil {
		return fmt.Errorf("envoy is missing: run ./test.sh, which installs it, or name one in ENVOY_BIN: %w", err)
	}
	rlsBinary = filepath.Join(dir, "envoy-rls")
	args := []string{"build", "-o", rlsBinary}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/envoy-rls")...)
	cmd.Dir = repoRoot
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build envoy-rls: %w\n%s", err, out)
	}
	return nil
}
