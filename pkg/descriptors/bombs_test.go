package descriptors

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestBombs compiles files that try to hang the server or to eat its memory.
func TestBombs(t *testing.T) { // not parallel: it measures
	aliases := "x0: &x0 [a, b, c, d, e, f, g, h, i]\n"
	for i := 1; i < 12; i++ {
		aliases += fmt.Sprintf("x%d: &x%d [*x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	aliases = strings.ReplaceAll(strings.ReplaceAll(aliases, "\nx", "\nx-"), "x0: &", "x-0: &")
	merges := "x-0: &x0 {a: b}\n"
	for i := 1; i < 30; i++ {
		merges += fmt.Sprintf("x-%d: &x%d {<<: [*x%d, *x%d]}\n", i, i, i-1, i-1)
	}
	rules := "x-0: &x0 [{key: k}]\n"
	for i := 1; i < 40; i++ {
		rules += fmt.Sprintf("x-%d: &x%d [{key: a, descriptors: *x%d}, {key: b, descriptors: *x%d}]\n", i, i, i-1, i-1)
	}
	var ring strings.Builder
	ring.WriteString("domain: d\ndescriptors:\n")
	for i := range 500 {
		fmt.Fprintf(&ring, "- {key: k%d, rate_limit: {unit: day, requests_per_unit: 1, name: n%d, replaces: [{name: n%d}]}}\n", i, i, (i+1)%500)
	}
	const top = "domain: d\ndescriptors:\n"
	for name, text := range map[string]string{
		"aliases unused":      aliases + "domain: d\ndescriptors: []\n",
		"aliases in values":   aliases + "domain: d\ndescriptors: [{key: k, values: *x11}]\n",
		"aliases in metadata": aliases + "domain: d\ndescriptors: [{key: k, metadata: {a: *x11}}]\n",
		"merges":              merges + "domain: d\ndescriptors: [{key: k, metadata: *x29}]\n",
		"rules":               rules + "domain: d\ndescriptors: *x39\n",
		"ring":                ring.String(),
		"anchor in itself":    "domain: d\nx-a: &a [*a, *a]\ndescriptors: [{key: k, metadata: {a: *a}}]\n",
		"map in itself":       "domain: d\ndescriptors: [&a {key: k, metadata: *a}]\n",
		"merge of itself":     "domain: d\ndescriptors: [&a {key: k, <<: *a}]\n",
		"flow nesting":        "domain: d\ndescriptors: " + strings.Repeat("[", 5000),
		"closed nesting":      "domain: d\ndescriptors: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		"map nesting":         "domain: d\ndescriptors: " + strings.Repeat("{a: ", 2000) + strings.Repeat("}", 2000),
		"block nesting":       "domain: d\ndescriptors:\n" + strings.Repeat("- ", 2000) + "a",
		"question nesting":    strings.Repeat("? ", 2000),
		"100 levels":          "domain: d\n" + hundredLevels(100),
		"NUL":                 "domain: d\x00",
		"NULs":                strings.Repeat("\x00", 100_000),
		"tabs":                strings.Repeat("\t", 100_000),
		"documents":           strings.Repeat("---\n", 10_000),
		"brackets":            top + strings.Repeat("- [\n", 1000),
		"comments":            strings.Repeat("# comment\n", 10_000),
		"long key":            top + "- key: " + strings.Repeat("k", 1<<20) + "\n",
		"long line of errors": top + "- {" + strings.Repeat("a: b, ", 10_000) + "key: k}\n",
		"same key":            top + "- {" + strings.Repeat("key: b, ", 10_000) + "key: k}\n",
		"nested regex":        top + "- {key: k, regex: '" + strings.Repeat("(a{1,10}", 200) + strings.Repeat("){1,10}", 200) + "'}\n",
		"quotes":              "domain: \"" + strings.Repeat("\\x", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			rs, diagnostics := Compile(yamlFiles(text), nil, Options{})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 || took > 20*time.Second {
				t.Errorf("%d MB in %s", used>>20, took)
			}
			t.Logf("%s, %d kB, %d problems", took, (after.TotalAlloc-before.TotalAlloc)>>10, len(diagnostics))
			if rs == nil || len(diagnostics) == 0 && rs.Domain("d") == nil {
				t.Error("no word about it")
			}
		})
	}
}

func hundredLevels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sdescriptors:\n%s- key: k\n", strings.Repeat("  ", i), strings.Repeat("  ", i))
	}
	return b.String()
}

func TestFileOfTooManyBytes(t *testing.T) {
	t.Parallel()
	file := File{Name: "a.yaml", Data: bytes.Repeat([]byte("# \n"), maxFileBytes/3+1)}
	_, diagnostics := Compile([]File{file}, nil, Options{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "at most 16777216") {
		t.Error(diagnostics)
	}
	file.Data = bytes.Repeat([]byte("[a,a]\n"), maxFileNodes/3+1)
	_, diagnostics = Compile([]File{file}, nil, Options{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "more than 2000000 values") {
		t.Error(diagnostics)
	}
}

func TestTooManyPatterns(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("domain: d\ndescriptors:\n")
	for i := range maxSelective + 1 {
		fmt.Fprintf(&text, "- {key: k, value: 'p%d*'}\n", i)
	}
	got := problems(text.String())
	if len(got) != 1 || !strings.Contains(got[0], "more than 1000 patterns and regexes for key") {
		t.Error(got)
	}
}
