package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metric is one that internal/telemetry makes.
type metric struct {
	name, kind, help string
	labels           []string
}

// metrics reads them from the source: a vector without a series yet would not
// show itself in a registry.
func metrics(t *testing.T) []metric {
	t.Helper()
	kinds := map[string]string{ // those that begin with reference have their whole name
		"referenceCounter": "counter", "referenceCounters": "counter", "referenceHistograms": "histogram",
		"counter": "counter", "counters": "counter", "gauge": "gauge", "gauges": "gauge",
		"histograms": "histogram", "desc": "",
	}
	sources, err := filepath.Glob(filepath.Join(root(t), "internal", "telemetry", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var list []metric
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			kind, known := kinds[called(call)]
			if args := literals(call.Args); known && len(args) >= 2 {
				if kind == "" {
					kind = kindOf(args[0])
				}
				name := args[0]
				if !strings.HasPrefix(called(call), "reference") {
					name = "envoy_rls_" + name
				}
				list = append(list, metric{name, kind, args[1], args[2:]})
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return list
}

func kindOf(name string) string {
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

// called is the name of the function or method that is called.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literals returns the arguments if all are string literals.
func literals(args []ast.Expr) []string {
	var list []string
	for _, arg := range args {
		lit, ok := arg.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return nil
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			return nil
		}
		list = append(list, text)
	}
	return list
}

// TestMetricsReference generates the table of docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | what |\n|---|---|---|---|\n")
	for _, m := range metrics(t) {
		labels := "–"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "` `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, cell(m.help))
	}
	generated(t, "docs/reference/metrics.md", b.String()+"\n")
}

// TestMetricNames: what documents and deployments call a metric is one.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range metrics(t) {
		known[m.name] = true
		if m.kind == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[m.name+suffix] = true
			}
		}
	}
	name := regexp.MustCompile(`\b(envoy_rls|ratelimit_service)_[a-z_]*[a-z]\b`)
	for _, file := range files(t, ".md", ".yaml", ".json") {
		for _, found := range name.FindAllString(read(t, filepath.Join(root(t), file)), -1) {
			if !known[found] {
				t.Errorf("%s names %s, which is no metric", file, found)
			}
		}
	}
}
