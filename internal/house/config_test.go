package house

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// TestExampleRules: config/ compiles without so much as a warning, shows every
// algorithm, and its README lists every limit that has a name.
func TestExampleRules(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root(t), "config")
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []descriptors.File
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.yaml") {
			rules = append(rules, descriptors.File{Name: path, Data: []byte(read(t, path))})
		}
	}
	set, diagnostics := descriptors.Compile(rules, nil, descriptors.Options{})
	for _, d := range diagnostics {
		t.Errorf("%s (%s)", d, d.Hint)
	}
	readme := read(t, filepath.Join(dir, "README.md"))
	used := map[buckets.Algorithm]bool{}
	for _, limit := range set.Limits() {
		used[limit.Bucket.Algorithm] = true
		if limit.Name != "" && !strings.Contains(readme, "`"+limit.Name+"`") {
			t.Errorf("config/README.md does not list the limit %s", limit.Name)
		}
	}
	for _, algorithm := range buckets.Algorithms() {
		if !used[algorithm] {
			t.Errorf("config/ shows no limit with %s", algorithm)
		}
	}
}

// TestModelines: rule files that ship tell editors where the schema is.
func TestModelines(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(root(t), "config", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.yaml") {
			continue // tests of rules have another shape
		}
		first, _, _ := strings.Cut(read(t, path), "\n")
		schema, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
		if !ok {
			t.Errorf("%s does not begin with a modeline, but %q", path, first)
			continue
		}
		if read(t, filepath.Join(filepath.Dir(path), schema)) != string(descriptors.JSONSchema()) {
			t.Errorf("%s: %s is not the schema", path, schema)
		}
	}
}
