package descriptors

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares text with a file, or writes the file anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), write it anew with -rewrite:\n%s", name, diff)
	}
}

// yamlFiles names texts a.yaml, b.yaml and so on.
func yamlFiles(texts ...string) []File {
	var files []File
	for i, text := range texts {
		files = append(files, File{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return files
}

// compiled compiles texts that are right.
func compiled(t testing.TB, texts ...string) *Ruleset {
	t.Helper()
	rs, diagnostics := Compile(yamlFiles(texts...), nil, Options{})
	for _, d := range diagnostics {
		if d.Severity == Error {
			t.Fatalf("unexpected error: %s", d)
		}
	}
	return rs
}

// problems compiles texts and lists what is reported.
func problems(texts ...string) []string {
	_, diagnostics := Compile(yamlFiles(texts...), nil, Options{})
	var all []string
	for _, d := range diagnostics {
		all = append(all, d.String())
	}
	return all
}

// wantProblems compares problems by their beginnings: place, severity, and as
// much of the message as matters.
func wantProblems(t *testing.T, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = strings.HasPrefix(got[i], want[i])
	}
	if !ok {
		t.Errorf("problems:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// entries reads k=v,k2=v2.
func entries(text string) []Entry {
	var all []Entry
	for _, pair := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		all = append(all, Entry{Key: key, Value: value})
	}
	return all
}

// ends says where a descriptor ends: the path of its rule, or the reason.
func ends(rs *Ruleset, domain, descriptor string) string {
	m := rs.Domain(domain).Match(entries(descriptor))
	if m.Rule == nil {
		return m.Reason.String()
	}
	return fmt.Sprintf("%s %s", m.Reason, m.Rule.Path)
}

// listing is everything that a ruleset says, as text.
func listing(rs *Ruleset) string {
	var b strings.Builder
	for _, d := range rs.Domains() {
		fmt.Fprintf(&b, "domain %q rejected=%t kept=%t fallback=%t\n", d.Name, d.Rejected, d.Kept, d.fallback)
		for r := range d.Rules() {
			fmt.Fprintf(&b, "  %s", r.Path)
			list := func(name string, is bool) {
				if is {
					b.WriteString(" " + name)
				}
			}
			list("shadow", r.Shadow)
			list("quota", r.Quota)
			list("detailed", r.DetailedMetric)
			if r.ValueToMetric != nil {
				fmt.Fprintf(&b, " value_to_metric=%v", r.ValueToMetric)
			}
			if r.Marks != nil {
				fmt.Fprintf(&b, " marks=%v", r.Marks)
			}
			if r.Metadata != nil {
				fmt.Fprintf(&b, " metadata=%#v", r.Metadata)
			}
			b.WriteByte('\n')
			for _, l := range r.Limits {
				fmt.Fprintf(&b, "    %d %s: %s\n", l.Index, l.Label, describeLimit(l))
			}
		}
	}
	return b.String()
}

func describeLimit(l *Limit) string {
	var b strings.Builder
	if l.Unlimited {
		b.WriteString("unlimited")
	} else {
		fmt.Fprintf(&b, "%d/%d %s, %s burst %d, denied %s, store error %s", l.Amount, l.Multiplier, l.Unit, l.Bucket.AppendIdentity(nil), l.Bucket.Burst, l.DeniedHits, l.OnStoreError)
	}
	if l.WireName != "" {
		fmt.Fprintf(&b, ", name %q", l.WireName)
	}
	if l.Replaces != nil {
		fmt.Fprintf(&b, ", replaces %q", l.Replaces)
	}
	return b.String()
}

// limited is a document with one rule for key k and this limit.
func limited(limit string) string {
	return "domain: d\ndescriptors:\n- key: k\n  rate_limit: {" + limit + "}\n"
}

// oneLimit compiles a limit.
func oneLimit(t *testing.T, limit string, opt Options) *Limit {
	t.Helper()
	rs, diagnostics := Compile(yamlFiles(limited(limit)), nil, opt)
	if len(diagnostics) > 0 {
		t.Fatalf("unexpected problem: %s", diagnostics[0])
	}
	return rs.Limits()[0]
}
