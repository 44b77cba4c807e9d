package ruletest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// WriteText writes a failure for people: where, what differs, and how the answer
// came about.
func (f *Failure) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "  %s: step %d at %s", f.Place, f.Step, durationText(f.At))
	if f.Calls > 1 {
		fmt.Fprintf(&b, ", call %d of %d", f.Call, f.Calls)
	}
	b.WriteString("\n")
	for _, d := range f.Diffs {
		fmt.Fprintf(&b, "    - %s: %s\n    + %s: %s\n", d.Field, d.Want, d.Field, d.Got)
	}
	b.WriteString(explained(f.Explanation))
	_, err := b.WriteTo(w)
	return err
}

func explained(x *explain.Explanation) string {
	var text strings.Builder
	if x == nil || x.WriteText(&text) != nil {
		return ""
	}
	return "      " + strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), "\n", "\n      ") + "\n"
}

// WriteJUnit writes results, by the name of their file, in the XML that build
// servers read.
func WriteJUnit(w io.Writer, suites []SuiteResult) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Name     string    `xml:"name,attr"`
		Class    string    `xml:"classname,attr"`
		Failures []failure `xml:"failure"`
	}
	type suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	type report struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	var out report
	for _, s := range suites {
		of := suite{Name: s.Name, Tests: len(s.Results)}
		for _, r := range s.Results {
			c := testCase{Name: r.Test.Name, Class: s.Name}
			for i := range r.Failures {
				var text strings.Builder
				if err := r.Failures[i].WriteText(&text); err != nil {
					return err
				}
				c.Failures = append(c.Failures, failure{r.Failures[i].Place.String(), text.String()})
			}
			if len(c.Failures) > 0 {
				of.Failures++
			}
			of.Cases = append(of.Cases, c)
		}
		if s.Problem != "" {
			of.Tests, of.Failures = of.Tests+1, of.Failures+1
			of.Cases = append(of.Cases, testCase{Name: "load", Class: s.Name, Failures: []failure{{"cannot run", s.Problem}}})
		}
		out.Suites = append(out.Suites, of)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// SuiteResult is the outcome of a test file.
type SuiteResult struct {
	Name    string
	Problem string // why it could not run; "" if it did
	Results []Result
}
