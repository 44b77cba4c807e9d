package descriptors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/google/go-cmp/cmp"
)

const (
	goodOne = "domain: one\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]\n"
	badOne  = "domain: one\ndescriptors: [{key: a, rate_limit: {unit: eon, requests_per_unit: 1}}]\n"
	goodTwo = "domain: two\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 2}}]\n"
	noYAML  = "domain: one\ndescriptors: [{key: a\n"
)

// TestRejected is about what becomes of a domain whose new rules are in error.
func TestRejected(t *testing.T) {
	t.Parallel()
	unreadable := File{Name: "a.yaml", Err: errors.New("permission denied")}
	for _, c := range []struct {
		name    string
		before  []File
		files   []File
		want    string // domains, with - for rejected and + for kept
		unknown bool
	}{
		{"error at first", nil, yamlFiles(badOne, goodTwo), "one- two", false},
		{"error later", yamlFiles(goodOne, goodTwo), yamlFiles(badOne, goodTwo), "one-+ two", false},
		{"no YAML, domain in the text", nil, yamlFiles(noYAML, goodTwo), "one- two", false},
		{"no YAML, kept", yamlFiles(goodOne, goodTwo), yamlFiles(noYAML, goodTwo), "one-+ two", false},
		{"no YAML, known from before", yamlFiles(goodOne, goodTwo), yamlFiles("{", goodTwo), "one-+ two", false},
		{"no YAML, nothing known", nil, yamlFiles("{", goodTwo), "two", true},
		{"no domain, nothing known", nil, yamlFiles("descriptors: []", goodTwo), "two", true},
		{"no domain, known from before", yamlFiles(goodOne), yamlFiles("descriptors: []"), "one-+", false},
		{"empty domain", nil, yamlFiles("domain: ''\ndescriptors: []"), "", true},
		{"unreadable", yamlFiles(goodOne, goodTwo), []File{unreadable, yamlFiles("", goodTwo)[1]}, "one-+ two", false},
		{"unreadable at first", nil, []File{unreadable}, "", true},
		{"second document is no YAML", nil, yamlFiles(goodOne + "---\ndomain: three\nx: [\n"), "one three-", false},
		{"second document is no YAML, nothing known", nil, yamlFiles(goodOne + "---\n{"), "one", true},
		{"one of two files", yamlFiles(goodOne, goodOne[:12]+"descriptors: [{key: b}]"), yamlFiles(goodOne, noYAML), "one-+", false},
		{"error in the first of two files", yamlFiles(goodOne), yamlFiles(badOne, "domain: one\ndescriptors: [{key: b}]"), "one-+", false},
		{"conflict", nil, yamlFiles(goodOne, goodOne, goodTwo), "one- two", false},
		{"gone", yamlFiles(goodOne, goodTwo), yamlFiles(goodOne), "one", false},
		{"JSON", nil, yamlFiles(`{"domain": "one", "descriptors": [`), "one-", false},
		{"flow", nil, yamlFiles(`{ domain: one, descriptors: [`), "one-", false},
		{"quoted, comment", nil, yamlFiles("domain: 'o ne' # one\n\tx"), "o ne-", false},
		{"plain, comment", nil, yamlFiles("domain: one # two\n\tx"), "one-", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var last *Ruleset
			if c.before != nil {
				last, _ = Compile(c.before, nil, Options{})
			}
			rs, diagnostics := Compile(c.files, last, Options{})
			var got []string
			for _, d := range rs.Domains() {
				name := d.Name
				if d.Rejected {
					name += "-"
				}
				if d.Kept {
					name += "+"
				}
				if usable := d.Match(entries("a=1")).Rule != nil; usable == (d.Rejected && !d.Kept) {
					t.Errorf("%s: has rules: %t", name, usable)
				}
				got = append(got, name)
			}
			if strings.Join(got, " ") != c.want || rs.UnknownUnavailable != c.unknown {
				t.Errorf("domains %v, unknown unavailable %t; want %s, %t\n%v", got, rs.UnknownUnavailable, c.want, c.unknown, diagnostics)
			}
			for i, l := range rs.Limits() {
				if l.Index != i {
					t.Errorf("limit %d has index %d", i, l.Index)
				}
			}
		})
	}
}

// TestKeptForLong holds a domain in error over several reloads, whatever else
// happens, and lets go of it when it is repaired.
func TestKeptForLong(t *testing.T) {
	t.Parallel()
	first, _ := Compile(yamlFiles(goodOne, goodTwo), nil, Options{})
	rs := first
	for _, text := range []string{noYAML, badOne, "{", badOne} {
		rs, _ = Compile(yamlFiles(text, goodTwo), rs, Options{})
		if got := ends(rs, "one", "a=1"); got != "matched one/a" || !rs.Domain("one").Kept {
			t.Fatalf("after %q: %s", text, got)
		}
	}
	if first.Limits()[0] == rs.Limits()[0] {
		t.Error("two rulesets share a limit, whose number differs between them")
	}
	rs, _ = Compile(yamlFiles(goodOne), rs, Options{})
	if d := rs.Domain("one"); d.Rejected || d.Kept {
		t.Error("still rejected")
	}
}

// TestKeptMatchesAsBefore keeps the way of matching together with the rules.
func TestKeptMatchesAsBefore(t *testing.T) {
	t.Parallel()
	last := compiled(t, `
domain: one
match: fallback
descriptors:
- {key: a, values: [x, 'y*'], descriptors: [{key: b, value: z}]}
- {key: a, cidr: 10.0.0.0/8, descriptors: [{key: b, regex: ^z}]}
- {key: a, regex: ^1, descriptors: [{key: b, value: q}]}
- {key: a, descriptors: [{key: b, sensitive: true, rate_limit: {unit: day, requests_per_unit: 1}}]}
`)
	rs, _ := Compile(yamlFiles(badOne), last, Options{})
	for _, descriptor := range []string{"a=x,b=z", "a=yy,b=z", "a=x,b=other", "a=10.1.1.1,b=z", "a=10.1.1.1,b=q", "a=10.1.1.1,b=r", "a=5,b=1", "a=x", "c=1"} {
		if want, got := ends(last, "one", descriptor), ends(rs, "one", descriptor); got != want {
			t.Errorf("%s: %s, before: %s", descriptor, got, want)
		}
	}
	before, kept := listing(last), listing(rs)
	if diff := cmp.Diff(before[strings.Index(before, "\n"):], kept[strings.Index(kept, "\n"):]); diff != "" {
		t.Error(diff)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	if rs, diagnostics := Compile(yamlFiles(badOne, goodTwo), nil, Options{Strict: true}); rs != nil || len(diagnostics) == 0 {
		t.Error("loads in spite of an error")
	}
	warned := "domain: d\ndescriptors: [{key: k, shadow_mode: true}]"
	if rs, diagnostics := Compile(yamlFiles(warned), nil, Options{Strict: true}); rs == nil || len(diagnostics) != 1 {
		t.Error("a warning keeps it from loading")
	}
}

// TestMerge joins the rules of two files, level by level.
func TestMerge(t *testing.T) {
	t.Parallel()
	rs := compiled(t, `
domain: d
descriptors:
- key: a
  value: x
  rate_limit: {unit: day, requests_per_unit: 1}
  descriptors:
  - {key: b, rate_limit: {unit: day, requests_per_unit: 2}}
`, `
domain: d
descriptors:
- key: a
  value: x
  metadata: {m: 1}
  descriptors:
  - {key: b, descriptors: [{key: c, regex: ^z, rate_limit: {unit: day, requests_per_unit: 3}}]}
  - {key: b, value: y, rate_limit: {unit: day, requests_per_unit: 4}}
- {key: a, rate_limit: {unit: day, requests_per_unit: 5}}
`)
	want := map[string]uint32{"a=x": 1, "a=x,b=1": 2, "a=x,b=1,c=z": 3, "a=x,b=y": 4, "a=y": 5}
	got := make(map[string]uint32)
	for descriptor := range want {
		if m := rs.Domain("d").Match(entries(descriptor)); m.Rule != nil {
			got[descriptor] = m.Rule.Limits[0].Amount
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m := rs.Domain("d").Match(entries("a=x")).Rule.Metadata; m["m"] != 1.0 {
		t.Errorf("metadata %v", m)
	}
}

// TestOrderMeansNothing deals the rules of one domain out to files in many ways.
func TestOrderMeansNothing(t *testing.T) {
	t.Parallel()
	rules := []string{
		"{key: a, rate_limit: {unit: day, requests_per_unit: 1, name: n}}",
		"{key: a, value: x, rate_limit: {unit: day, requests_per_unit: 2, replaces: [{name: n}]}}",
		"{key: a, value: 'x*', share_threshold: true, rate_limit: {unit: day, requests_per_unit: 3}}",
		"{key: a, value: 'xy*', rate_limit: {unit: day, requests_per_unit: 4}}",
		"{key: a, value: 'xz*', rate_limit: {unit: day, requests_per_unit: 5}}",
		"{key: a, values: [p, q, 'r*'], rate_limit: {unit: day, requests_per_unit: 6}}",
		"{key: a, value: x, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 7}}]}",
		"{key: a, value: x, descriptors: [{key: b, value: y, rate_limit: {unit: day, requests_per_unit: 8}}]}",
		"{key: ip, cidr: 10.0.0.0/8, rate_limit: {unit: day, requests_per_unit: 9}}",
		"{key: ip, cidr: [10.1.0.0/16, 10.2.0.0/16], rate_limit: {unit: day, requests_per_unit: 10}}",
		"{key: s, value: secret1, sensitive: true, rate_limit: {unit: day, requests_per_unit: 11}}",
		"{key: s, value: secret2, sensitive: true, rate_limit: {unit: day, requests_per_unit: 12}}",
		"{key: a, value: x/b, rate_limit: {unit: day, requests_per_unit: 13}}",
	}
	want := ""
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		texts := make([]string, 1+random.IntN(3))
		for i := range texts {
			texts[i] = "domain: d\ndescriptors:\n"
		}
		for _, i := range random.Perm(len(rules)) {
			texts[random.IntN(len(texts))] += "- " + rules[i] + "\n"
		}
		for i := range texts {
			texts[i] = strings.TrimSuffix(texts[i], "descriptors:\n") // a file without rules says so
			if !strings.Contains(texts[i], "descriptors:") {
				texts[i] += "descriptors: []\n"
			}
		}
		got := listing(compiled(t, texts...))
		if want == "" {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: another order, another ruleset:\n%s\n%s", seed, diff, strings.Join(texts, "---\n"))
		}
	}
	if n := strings.Count(want, "=#"); n != 4 || strings.Contains(want, "secret") { // in path and label
		t.Errorf("%d of the 4 secret values are hidden:\n%s", n, want)
	}
}

func TestLabelsAreUnique(t *testing.T) {
	t.Parallel()
	rs := compiled(t, `
domain: d
descriptors:
- {key: a, value: b/c=d, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: a, value: b, descriptors: [{key: c, value: d, rate_limit: {unit: day, requests_per_unit: 2}}]}
- {key: a, value: 'd/a=b/c=d#2', rate_limits: [{unit: day, requests_per_unit: 1}, {unit: hour, requests_per_unit: 1}]}
- {key: z, rate_limit: {unit: day, requests_per_unit: 3, name: d/a=b/c=d}}
`)
	seen := make(map[string]bool)
	for _, l := range rs.Limits() {
		if seen[l.Label] {
			t.Errorf("label %s twice", l.Label)
		}
		seen[l.Label] = true
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	compat := Options{Algorithm: buckets.FixedWindow, DeniedHits: DeniedCharged, OnStoreError: PolicyLocal, Unbounded: true}
	for _, c := range []struct{ limit, want string }{
		{"unit: day, requests_per_unit: 3", "3/1 day, fixed_window:86400 burst 3, denied charged, store error local"},
		{"unit: day, requests_per_unit: 3, denied_hits: auto, on_store_error: error", "3/1 day, fixed_window:86400 burst 3, denied auto, store error error"},
		{"unit: day, requests_per_unit: 3, algorithm: token_bucket, burst: 5", "3/1 day, token_bucket:86400 burst 5, denied charged, store error local"},
	} {
		l := oneLimit(t, c.limit, compat)
		if got := describeLimit(l); got != c.want {
			t.Errorf("%s: %s, want %s", c.limit, got, c.want)
		}
		if l.Bucket.Unbounded != (l.Bucket.Algorithm == buckets.FixedWindow) {
			t.Errorf("%s: unbounded is %t", c.limit, l.Bucket.Unbounded)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	sum := func(opt Options, files ...File) string {
		rs, _ := Compile(files, nil, opt)
		return rs.Hash
	}
	f := yamlFiles(goodOne, goodTwo)
	same := sum(Options{}, f[0], f[1])
	if sum(Options{}, f[1], f[0]) != same {
		t.Error("the order of files changes the hash")
	}
	for name, other := range map[string]string{
		"options": sum(Options{Unbounded: true}, f...), "content": sum(Options{}, f[0]), "name": sum(Options{}, File{Name: "x", Data: f[0].Data}, f[1]),
	} {
		if other == same {
			t.Errorf("other %s, same hash", name)
		}
	}
}

// TestNoFileAtAll compiles to no domains.
func TestNoFileAtAll(t *testing.T) {
	t.Parallel()
	rs, diagnostics := Compile(nil, nil, Options{})
	if len(rs.Domains()) != 0 || len(diagnostics) != 0 || rs.Domain("x") != nil || rs.UnknownUnavailable {
		t.Errorf("%v %v", rs, diagnostics)
	}
}

// TestAllProblemsAtOnce reports mistakes of every stage in one go.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	text := `
domain: d
colour: red
descriptors:
- {key: a, rate_limit: {unit: eon, requests_per_unit: 010}}
- {key: b, rate_limit: {unit: day, requests_per_unit: 1, name: n, replaces: [{name: n}]}}
- {key: c, shadow_mode: true}
- {key: b, rate_limit: {unit: day, requests_per_unit: 1, burst: 3, algorithm: fixed_window}}
`
	got := strings.Join(problems(text), "\n")
	for line, part := range map[int]string{3: "colour", 5: "eon", 6: "itself", 7: "no effect", 8: "has a limit already"} {
		if !strings.Contains(got, part) || !strings.Contains(got, fmt.Sprintf("a.yaml:%d:", line)) {
			t.Errorf("nothing of %s in line %d:\n%s", part, line, got)
		}
	}
}

// A share of the amount is the burst of limits that say none, of files and of a
// source whose messages know no burst.
func TestBurstPercent(t *testing.T) {
	t.Parallel()
	const shared = "domain: d\ndefaults: {burst_percent: 15}\n"
	for _, c := range []struct {
		limit string
		want  uint64
	}{
		{"unit: minute, requests_per_unit: 60", 9},
		{"unit: minute, requests_per_unit: 61", 10},
		{"unit: minute, requests_per_unit: 1", 1},
		{"unit: minute, requests_per_unit: 60, burst: 7", 7},
		{"unit: minute, requests_per_unit: 60, algorithm: gcra", 9},
		{"unit: minute, requests_per_unit: 60, algorithm: leaky_bucket", 9},
		{"unit: minute, requests_per_unit: 60, algorithm: fixed_window", 60},
		{"unit: minute, requests_per_unit: 0", 0},
	} {
		rs, diagnostics := Compile(yamlFiles(shared+"descriptors: [{key: k, rate_limit: {"+c.limit+"}}]"), nil, Options{})
		if len(diagnostics) != 0 {
			t.Fatalf("%s: %v", c.limit, diagnostics)
		}
		if got := rs.Limits()[0].Bucket.Capacity(); got != c.want {
			t.Errorf("%s: burst %d, want %d", c.limit, got, c.want)
		}
	}
	over := &Config{Domain: "d", Rules: []ConfigRule{{Key: "k", Limit: &ConfigLimit{Amount: 60, Unit: Minute}}}}
	rs, diagnostics := Compile([]File{{Name: "xds", Config: over}, {Name: "d.yaml", Data: []byte(shared), DefaultsOnly: true}}, nil, Options{})
	if len(diagnostics) != 0 || rs.Limits()[0].Bucket.Capacity() != 9 {
		t.Errorf("over xDS: %v, burst %d, want 9", diagnostics, rs.Limits()[0].Bucket.Capacity())
	}
	_, diagnostics = Compile(yamlFiles(shared, "domain: d\ndefaults: {burst_percent: 20}\n"), nil, Options{})
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Message, "has other defaults already") {
		t.Errorf("two shares: %v", diagnostics)
	}
}
