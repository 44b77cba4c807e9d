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
	took := func(n int) time.Duration {
		start := time.Now()
		rs, diagnostics := Compile(manyRules(n), nil, Options{})
		if len(diagnostics) > 0 || rs.Rules() != n {
			t.Fatalf("%d rules, %v", rs.Rules(), diagnostics)
		}
		return time.Since(start)
	}
	var few, many time.Duration
	for range 5 {
		few, many = took(5_000), took(50_000)
		if many < 40*few {
			return
		}
	}
	t.Errorf("5,000 rules took %s, 50,000 %s", few, many)
}
