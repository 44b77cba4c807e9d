package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place begins a problem that check prints.
var place = regexp.MustCompile(`(?m)^\S+:\d+:\d+: (error|warning|note): `)

// C23: check says what is wrong with any file, with its place, as text and as
// JSON, and ends with the exit code of an error where there is one; it never breaks down.
func TestC23CheckNamesPlaces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../pkg/descriptors/testdata/bad/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d bad files, %v", len(files), err)
	}
	for _, file := range files {
		golden, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if strings.Contains(string(golden), ": error: ") {
			want = 1
		}
		code, text := runCheck(t, file)
		if code != want || !place.MatchString(text) || strings.Contains(text, "goroutine") {
			t.Errorf("%s: exit code %d:\n%s", file, code, text)
		}
		code, text = runCheck(t, "--format=json", file)
		if code != want || !json.Valid([]byte(text)) {
			t.Errorf("%s as JSON: exit code %d:\n%s", file, code, text)
		}
	}
}

// runCheck runs the command and returns its exit code and all that it prints.
func runCheck(t *testing.T, args ...string) (int, string) {
	t.Helper()
	out, err := exec.Command("envoy-rls", append([]string{"check"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, string(out)
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	return exit.ExitCode(), string(out)
}
