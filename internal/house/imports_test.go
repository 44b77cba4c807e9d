package house

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files and generated documents")

const module = "github.com/envoy-rls/envoy-rls"

// goPackage is what go list tells of a package, by paths within the module.
type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out := goList(t, "-json=ImportPath,Dir,Doc,GoFiles,Imports", "./...")
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p goPackage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatal(err)
		}
		p.ImportPath = within(p.ImportPath)
		for i, path := range p.Imports {
			p.Imports[i] = within(path)
		}
		list = append(list, p)
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	return string(out)
}

// within turns an import path of this module into one that begins with a dot.
func within(path string) string {
	if rest, ok := strings.CutPrefix(path, module); ok {
		return "." + rest
	}
	return path
}

// mayImport lists, for each of our packages, which others of ours it may import:
// arrows point inward, from cmd over internal and pkg/rls to pkg/buckets. A
// package with its sub-packages ends in /...
var mayImport = map[string][]string{
	"./pkg/buckets":                     nil,
	"./pkg/buckets/denied":              {"./pkg/buckets"},
	"./pkg/buckets/memstore":            {"./pkg/buckets"},
	"./pkg/buckets/redisstore":          {"./pkg/buckets", "./pkg/buckets/spread"},
	"./pkg/buckets/spread":              {"./pkg/buckets"},
	"./pkg/buckets/storetest":           {"./pkg/buckets/..."},
	"./pkg/buckets/storetest/model":     {"./pkg/buckets"},
	"./pkg/buckets/storetest/redistest": nil,
	"./pkg/descriptors":                 {"./pkg/buckets"},
	"./pkg/descriptors/filesource":      {"./pkg/buckets", "./pkg/descriptors"},
	"./pkg/descriptors/xdssource":       {"./pkg/descriptors"},
	"./pkg/rls":                         {"./pkg/buckets", "./pkg/descriptors"},
	"./pkg/rls/wire":                    {"./pkg/buckets", "./pkg/descriptors", "./pkg/rls"},
	"./pkg/rls/service":                 {"./pkg/buckets", "./pkg/descriptors", "./pkg/rls", "./pkg/rls/wire"},
	"./pkg/rls/explain":                 {"./pkg/buckets", "./pkg/descriptors", "./pkg/rls"},
	"./pkg/rls/ruletest":                {"./pkg/buckets", "./pkg/buckets/memstore", "./pkg/descriptors", "./pkg/rls", "./pkg/rls/explain"},
	"./pkg/limiter":                     {"./pkg/buckets", "./pkg/buckets/denied", "./pkg/buckets/memstore", "./pkg/buckets/redisstore", "./pkg/descriptors", "./pkg/rls"},
	"./examples/http":                   {"./pkg/buckets/redisstore", "./pkg/limiter"},
	"./internal/admin":                  {"./internal/admin/page", "./internal/lifecycle", "./internal/live", "./internal/playground", "./pkg/..."},
	"./internal/admin/page":             nil,
	"./internal/playground":             {"./pkg/buckets", "./pkg/buckets/memstore"},
	"./internal/live":                   {"./pkg/descriptors", "./pkg/rls"},
	"./internal/bench":                  {"./pkg/buckets"},
	"./internal/bench/noop":             nil,
	"./internal/envoyconf":              {"./pkg/descriptors", "./pkg/rls"},
	"./internal/house":                  nil,
	"./internal/lifecycle":              nil,
	"./internal/servertls":              nil,
	"./internal/settings":               {"./pkg/buckets", "./pkg/descriptors"},
	"./internal/telemetry":              nil,
	"./internal/tracing":                {"./pkg/rls"},
	"./cmd/envoy-rls":                   {"./internal/...", "./pkg/..."},
	"./test/e2e":                        nil,
	"./test/soak":                       nil,
}

// onlyIn says where a dependency may be imported: its pulls stay in one place,
// so that it can be replaced there.
var onlyIn = map[string][]string{
	"github.com/redis/go-redis":              {"./pkg/buckets/redisstore"},
	"gopkg.in/yaml.v3":                       {"./pkg/descriptors"},
	"github.com/envoyproxy/go-control-plane": {"./internal/bench/noop", "./pkg/rls/service", "./pkg/descriptors/xdssource"},
	"google.golang.org/grpc":                 {"./internal/bench/noop", "./pkg/rls/service", "./pkg/descriptors/xdssource", "./internal/tracing", "./cmd/envoy-rls"},
	"google.golang.org/protobuf":             {"./pkg/rls/service", "./pkg/rls/wire", "./pkg/descriptors/xdssource"},
	"github.com/prometheus":                  {"./internal/telemetry"},
	"go.opentelemetry.io":                    {"./internal/tracing"},
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		allowed, known := mayImport[p.ImportPath]
		if !known {
			t.Errorf("%s is in no row of mayImport: say what it may import", p.ImportPath)
		}
		for _, path := range p.Imports {
			switch {
			case strings.HasPrefix(path, "./"):
				if !slices.ContainsFunc(allowed, func(pattern string) bool { return covers(pattern, path) }) {
					t.Errorf("%s may not import %s", p.ImportPath, path)
				}
			case !strings.Contains(path, "."): // the standard library
			case p.ImportPath == "./pkg/buckets":
				t.Errorf("pkg/buckets imports %s: it imports the standard library only", path)
			default:
				checkDependency(t, p.ImportPath, path)
			}
		}
	}
}

func checkDependency(t *testing.T, importer, path string) {
	t.Helper()
	for dependency, places := range onlyIn {
		if covers(dependency+"/...", path) && !slices.Contains(places, importer) {
			t.Errorf("%s imports %s: only %v may", importer, path, places)
		}
	}
}

// covers tells whether an import path is that of a pattern.
func covers(pattern, path string) bool {
	prefix, sub := strings.CutSuffix(pattern, "/...")
	return path == prefix || sub && strings.HasPrefix(path, prefix+"/")
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		if !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go for its package comment", p.ImportPath)
		}
	}
}

// TestLinkedModules holds the modules that end up in the binary to a list, so
// that a new one is somebody's decision.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	out := goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/envoy-rls")
	lines := strings.Fields(out)
	slices.Sort(lines)
	golden(t, filepath.Join("testdata", "modules.txt"), strings.Join(slices.Compact(lines), "\n")+"\n")
}

// golden compares with a file of this package, or rewrites it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run the test with -rewrite", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; run the test with -rewrite and look at the change (-file +is):\n%s", file, diff)
	}
}
