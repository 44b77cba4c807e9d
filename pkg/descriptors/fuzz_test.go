package descriptors

import (
	"testing"
)

// FuzzCompile compiles any bytes, alone, over last good rules and beside other
// files: it never panics, and says something about whatever it does not load.
func FuzzCompile(f *testing.F) {
	for _, folder := range []string{"ok", "bad"} {
		for _, file := range ruleFiles(f, folder) {
			f.Add(file.Data)
		}
	}
	for _, text := range []string{
		"a: &a [*a]", "? - a\n: b", "- - - -", "%YAML 1.2\n---\n", "&a !!map {<<: *a}", "domain: d\n<<: *d", "{a: b, ? c}", "!!binary x", "a: |\n  x\n y", "# c\n- # d\n",
		"domain: d\ndescriptors: [&x {key: k, descriptors: [*x]}]", "domain: &d d\ndescriptors: [{key: *d, value: *d}]", "{? {a: b} : c}", "\"\\ud800\"", "domain: d\n...\ndomain: e\n",
	} {
		f.Add([]byte(text))
	}
	const beside = "domain: beside\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]"
	f.Fuzz(func(t *testing.T, data []byte) {
		other := File{Name: "b.yaml", Data: []byte(beside)}
		last, _ := Compile([]File{{Name: "a.yaml", Data: []byte(goodOne)}, other}, nil, Options{})
		rs, diagnostics := Compile([]File{{Name: "a.yaml", Data: data}, other}, last, Options{})
		if rs == nil {
			t.Fatal("no ruleset")
		}
		failed := false
		for _, d := range diagnostics {
			failed = failed || d.Severity == Error
			_ = d.text()
			if d.Message == "" || d.File == "" {
				t.Errorf("a problem without words or place: %+v", d)
			}
		}
		if rejected := len(rs.Rejected()) > 0 || rs.UnknownUnavailable; rejected != failed {
			t.Errorf("rejected %v, unknown unavailable %t, but errors: %v", rs.Rejected(), rs.UnknownUnavailable, diagnostics)
		}
		if rs.Domain("beside").Match(entries("k=v")).Rule == nil {
			t.Error("the other domain is gone")
		}
		for _, d := range rs.Domains() {
			d.Match(entries("k=v,path=/x,a=b"))
			for r := range d.Rules() {
				for _, l := range r.Limits {
					if rs.Limits()[l.Index] != l || l.Rule != r || l.Label == "" {
						t.Errorf("limit %+v", l)
					}
				}
			}
		}
		if strict, _ := Compile([]File{{Name: "a.yaml", Data: data}}, nil, Options{Strict: true}); strict == nil && !failed {
			t.Error("refused for nothing")
		}
	})
}
