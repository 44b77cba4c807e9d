package descriptors

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteText(t *testing.T) {
	t.Parallel()
	files := yamlFiles(
		"domain: shop\ndescriptors:\n- key: path\n  rate_limit:\n    unit: minute\n    request_per_unit: 10\n",
		"domain: other\ndescriptors:\n\t- key: a\n",
		"domain: third\ndescriptors:\n- {key: k, shadow_mode: true}\n",
	)
	files = append(files, File{Name: "d.yaml", Err: errors.New("permission denied")})
	_, diagnostics := Compile(files, nil, Options{})
	var text strings.Builder
	if err := WriteText(&text, diagnostics, len(files)); err != nil {
		t.Fatal(err)
	}
	want := `a.yaml:6:5: error: unknown field "request_per_unit" in rate_limit
    6 |     request_per_unit: 10
      |     ^~~~~~~~~~~~~~~~ did you mean "requests_per_unit"?
b.yaml:3:2: error: not YAML: found character that cannot start any token
    3 | 	- key: a
      | 	^ indent with spaces: YAML takes no tabs
c.yaml:3:25: warning: shadow_mode has no effect without a limit
    3 | - {key: k, shadow_mode: true}
      |                         ^~~~ leave it out
d.yaml: error: cannot read the file: permission denied
4 problems (3 errors, 1 warning) in 4 files
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	one := []Diagnostic{{Severity: Warning}}
	for want, got := range map[string]string{
		"no problems in 1 file":             Summary(nil, 1),
		"1 problem (1 warning) in 2 files":  Summary(one, 2),
		"2 problems (2 warnings) in 1 file": Summary(append(one, one...), 1),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteTextFails(t *testing.T) {
	t.Parallel()
	for _, diagnostics := range [][]Diagnostic{nil, {{Message: "m"}}} {
		if err := WriteText(broken{}, diagnostics, 1); err == nil {
			t.Error("no error")
		}
	}
}

func TestDiagnosticJSON(t *testing.T) {
	t.Parallel()
	_, diagnostics := Compile(yamlFiles("domain: d\ndescriptors:\n- key: k\n  valeu: v\n"), nil, Options{})
	got, err := json.Marshal(diagnostics)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"file":"a.yaml","line":4,"col":3,"end_col":8,"severity":"error","message":"unknown field \"valeu\" in descriptor",` +
		`"hint":"did you mean \"value\"?","path":"descriptors[0].valeu","domain":"d","source":"  valeu: v"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestHarmlessText shows nothing that a terminal would act on, and keeps a
// problem on its lines.
func TestHarmlessText(t *testing.T) {
	t.Parallel()
	_, diagnostics := Compile(yamlFiles("domain: d\ndescriptors:\n- {key: k, \"a\\e[2J\\nb\\u2028\u202e\u009b2J\": v}\n"), nil, Options{})
	var text strings.Builder
	if err := WriteText(&text, diagnostics, 1); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\u2028\u202e\u009b\r") || strings.Count(text.String(), "\n") != 4 {
		t.Errorf("%q", text.String())
	}
}

// TestLongLine shows the part of a long line that is meant.
func TestLongLine(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("{key: é}, ", 2000)
	_, diagnostics := Compile(yamlFiles("domain: d\ndescriptors: ["+filler+"{kye: k}, "+filler+"{valeu: k, key: a}]"), nil, Options{})
	seen := 0
	for _, d := range diagnostics {
		if d.Severity != Error || !strings.Contains(d.Message, "unknown") {
			continue
		}
		seen++
		lines := strings.Split(d.text(), "\n")
		at := len([]rune(lines[2][:strings.Index(lines[2], "^")]))
		if marked := string([]rune(lines[1])[at:][:3]); !strings.Contains(d.Message, marked) || len([]rune(lines[1])) > 140 {
			t.Errorf("%q is marked in\n%s", marked, d.text())
		}
	}
	if seen != 2 {
		t.Errorf("%d problems", seen)
	}
}

func TestDiagnosticsAreSorted(t *testing.T) {
	t.Parallel()
	bad := "domain: %s\ndescriptors:\n- {key: k, a: b, c: d}\n- {e: f}\n"
	files := yamlFiles(fmt.Sprintf(bad, "x"), fmt.Sprintf(bad, "y"))
	_, want := Compile(files, nil, Options{})
	files[0], files[1] = files[1], files[0]
	_, got := Compile(files, nil, Options{})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Diagnostic{})); diff != "" {
		t.Error(diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i-1].compare(got[i].Place) > 0 {
			t.Errorf("%s after %s", got[i], got[i-1])
		}
	}
}

func TestTooManyProblems(t *testing.T) {
	t.Parallel()
	_, diagnostics := Compile(yamlFiles("domain: d\ndescriptors: ["+strings.Repeat("{a: b},\n", maxDiagnostics)+"]"), nil, Options{})
	if last := diagnostics[len(diagnostics)-1]; len(diagnostics) != maxDiagnostics+1 || !strings.Contains(last.Message, "further problems are left out") {
		t.Errorf("%d problems, the last: %s", len(diagnostics), last)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := newSchema().descriptor.names
	for written, want := range map[string]string{
		"valeu": "value", "vlaue": "value", "Rate_Limit": "rate_limit", "rate-limit": "rate_limit", "ratelimits": "rate_limits",
		"descriptor": "descriptors", "ky": "key", "colour": "", "x": "", strings.Repeat("k", 100): "",
	} {
		if got := nearest(written, names); got != want {
			t.Errorf("%s: %q, want %q", written, got, want)
		}
	}
}

// TestFieldTable holds the table of fields to what is generated from it.
func TestFieldTable(t *testing.T) {
	t.Parallel()
	s := newSchema()
	check := func(level string, f *field) {
		if f.doc == "" || f.name == "" || (f.kind == kindEnum) != (len(f.enum) > 0) ||
			(f.kind == kindLevel || f.kind == kindList) != (f.level != "") || (f.kind == kindInteger) != (f.most > 0) {
			t.Errorf("%s.%s is not described: %+v", level, f.name, f)
		}
	}
	for i := range s.document.rows {
		check(s.document.name, &s.document.rows[i].field)
	}
	for i := range s.defaults.rows {
		check(s.defaults.name, &s.defaults.rows[i].field)
	}
	for i := range s.descriptor.rows {
		check(s.descriptor.name, &s.descriptor.rows[i].field)
	}
	for i := range s.limit.rows {
		check(s.limit.name, &s.limit.rows[i].field)
	}
}
