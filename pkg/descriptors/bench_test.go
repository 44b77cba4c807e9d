package descriptors

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyRules is a domain with n rules: users with exact paths below them.
func manyRules(n int) []File {
	var b strings.Builder
	b.WriteString("domain: bench\ndescriptors:\n- key: user\n  rate_limit: {unit: hour, requests_per_unit: 10}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "- key: user\n  value: u%d\n  rate_limit:\n    unit: minute\n    requests_per_unit: %d\n", i, i)
	}
	return []File{{Name: "bench.yaml", Data: []byte(b.String())}}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1, 1_000, 100_000} {
		rs, _ := Compile(manyRules(n), nil, Options{})
		domain := rs.Domain("bench")
		for _, kind := range []struct{ name, value string }{{"exact", fmt.Sprintf("u%d", n/2+1)}, {"key", "somebody"}} {
			b.Run(fmt.Sprintf("%s/rules=%d", kind.name, n), func(b *testing.B) {
				descriptor := []Entry{{Key: "user", Value: kind.value}}
				b.ReportAllocs()
				for b.Loop() {
					if domain.Match(descriptor).Rule == nil {
						b.Fatal("no rule")
					}
				}
			})
		}
	}
}

func BenchmarkMatchPatterns(b *testing.B) {
	var text strings.Builder
	text.WriteString("domain: bench\ndescriptors:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "- {key: path, value: '/api/v%d/*', rate_limit: {unit: hour, requests_per_unit: 10}}\n", i)
	}
	rs := compiled(b, text.String())
	descriptor := entries("path=/api/v50/things/1")
	b.ReportAllocs()
	for b.Loop() {
		if rs.Domain("bench").Match(descriptor).Rule == nil {
			b.Fatal("no rule")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			files := manyRules(n)
			b.SetBytes(int64(len(files[0].Data)))
			b.ReportAllocs()
			for b.Loop() {
				if rs, _ := Compile(files, nil, Options{}); rs.Rules() != n {
					b.Fatal("rules are missing")
				}
			}
		})
	}
}

func TestMatchAllocatesNothing(t *testing.T) { // not parallel: it counts allocations
	rs := compiled(t, `
domain: d
descriptors:
- {key: user, rate_limit: {unit: minute, requests_per_unit: 1}}
- key: path
  value: /login
  descriptors: [{key: ip, rate_limit: {unit: minute, requests_per_unit: 1}}]
`, `
domain: f
match: fallback
descriptors:
- {key: a, value: x, descriptors: [{key: b, value: y, rate_limit: {unit: day, requests_per_unit: 1}}]}
- {key: a, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}
`)
	for _, c := range []struct{ domain, descriptor string }{
		{"d", "user=anybody"}, {"d", "path=/login,ip=1.2.3.4"}, {"d", "path=/logout"}, {"f", "a=x,b=z"},
	} {
		descriptor, domain := entries(c.descriptor), rs.Domain(c.domain)
		if n := testing.AllocsPerRun(100, func() { domain.Match(descriptor) }); n != 0 {
			t.Errorf("match of %s allocates %v times", c.descriptor, n)
		}
	}
}

// TestCompileIsNotQuadratic compares ten times the rules: they take about ten
// times as long, and would take a hundred if any step were quadratic. Other
// load on the machine may spoil one comparison, but not each of several.
func TestCompileIsNotQuadratic(t *testing.T) {
	t.Parallel()
	sound := func(n int) []File { return manyRules(n) }
	t.Run("rules", func(t *testing.T) { isNotQuadratic(t, 5_000, sound) })
	// Each names a limit that there is not.
	lost := func(n int) []File {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {key: k, value: v%d, rate_limit: {name: n%d, unit: minute, requests_per_unit: 5, replaces: [{name: zz%d}]}}\n", i, i, i)
		}
		return []File{{Name: "lost.yaml", Data: []byte(b.String())}}
	}
	t.Run("replaces of unknown names", func(t *testing.T) { isNotQuadratic(t, 1_000, lost) })
}

func isNotQuadratic(t *testing.T, n int, rules func(n int) []File) {
	t.Helper()
	took := func(n int) time.Duration {
		files, start := rules(n), time.Now()
		if rs, _ := Compile(files, nil, Options{}); rs.Rules() != n {
			t.Fatalf("%d rules, want %d", rs.Rules(), n)
		}
		return time.Since(start)
	}
	var few, many time.Duration
	for range 5 {
		few, many = took(n), took(10*n)
		if many < 40*few {
			return
		}
	}
	t.Errorf("%d rules took %s, ten times as many %s", n, few, many)
}
