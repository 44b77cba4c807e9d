package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// TestAlgorithms: a row of the table, a Go file, a Lua twin that names it, and a
// golden trace, all of the same stem; and no Lua file that nothing uses.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root(t), "pkg", "buckets")
	shared := []string{"prelude", "flow", "state", "plain", "mixed"}
	var stems []string
	for _, algorithm := range buckets.Algorithms() {
		stem := algorithm.String()
		stems = append(stems, stem)
		text := read(t, filepath.Join(dir, stem+".go"))
		if want := "Lua twin: lua/" + stem + ".lua"; !strings.Contains(text, want) {
			t.Errorf("%s.go does not say %q", stem, want)
		}
		if traces, _ := filepath.Glob(filepath.Join(dir, "testdata", "traces", stem+"*.txt")); len(traces) == 0 {
			t.Errorf("no golden trace pkg/buckets/testdata/traces/%s*.txt", stem)
		}
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "lua", "*.lua"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, script := range scripts {
		stem := strings.TrimSuffix(filepath.Base(script), ".lua")
		if text := read(t, script); !strings.HasPrefix(text, "-- ") {
			t.Errorf("lua/%s.lua does not begin with a comment that says what it is", stem)
		} else if stem != "prelude" && !strings.Contains(text, "Go twin: ") {
			t.Errorf("lua/%s.lua does not name its Go twin", stem)
		}
		if !slices.Contains(shared, stem) {
			found = append(found, stem)
		}
	}
	slices.Sort(stems)
	if !slices.Equal(found, stems) {
		t.Errorf("lua files of algorithms: %v, rows of the table: %v", found, stems)
	}
}

// TestLuacheck lints the script that Redis gets.
func TestLuacheck(t *testing.T) {
	t.Parallel()
	luacheck, err := exec.LookPath("luacheck")
	if err != nil {
		t.Fatalf("luacheck is missing: run ./test.sh, or install the package lua-check: %v", err)
	}
	script := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(script, []byte(buckets.Script()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(luacheck, "--config", filepath.Join(root(t), ".luacheckrc"), "--no-color", script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
