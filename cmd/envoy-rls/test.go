package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
	"github.com/envoy-rls/envoy-rls/pkg/rls/ruletest"
)

var testCommand = command{
	name: "test",
	args: "[--run RE] [-v] [--coverage] [FILE…]",
	what: "Run tests of rules, under a clock of their own.",
	run:  testRules,
	help: func(w io.Writer) error {
		_, err := fmt.Fprint(w, `
  FILE            Test files, and folders of them: names that end in _test.yaml,
                  _test.yml or _test.json. Default: ./config if it is there, else
                  this folder.
  --run RE        Only tests whose name matches.
  -v              Name tests that pass, too.
  --coverage      Say which rules and limits no test meets.
  --fail-under N  Fail if tests meet less than N percent of them.
  --junit FILE    Write the results in JUnit's XML, too.
  --update        Rewrite what is expected to what is answered. Look at the
                  difference before you commit it.

Exit code 0 if all tests pass, 1 if one fails or cannot run, 2 if the command
line is wrong.
`)
		return err
	},
}

// tester runs test files.
type tester struct {
	*console
	run               *regexp.Regexp // nil: all tests
	verbose, update   bool
	coverage          bool
	failUnder         float64
	junit             string
	met               ruletest.Coverage
	passed, failed    int
	suites            []ruletest.SuiteResult
	unusable, rewrote int
}

func testRules(c *console, args []string) error {
	t := &tester{console: c}
	paths, err := t.parse(args)
	if err != nil {
		return err
	}
	files, err := testFiles(paths)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := t.file(file); err != nil {
			return err
		}
	}
	if t.run != nil && t.passed+t.failed+t.unusable == 0 {
		return &settings.UsageError{Text: fmt.Sprintf("--run=%s: no test has such a name", t.run)}
	}
	return t.finish()
}

func (t *tester) parse(args []string) ([]string, error) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	run := fs.String("run", "", "")
	fs.BoolVar(&t.verbose, "v", false, "")
	fs.BoolVar(&t.update, "update", false, "")
	fs.BoolVar(&t.coverage, "coverage", false, "")
	fs.Float64Var(&t.failUnder, "fail-under", 0, "")
	fs.StringVar(&t.junit, "junit", "", "")
	paths, err := parseMixed(fs, args)
	if err != nil {
		return nil, err
	}
	if t.failUnder < 0 || t.failUnder > 100 {
		return nil, &settings.UsageError{Text: fmt.Sprintf("--fail-under=%v: want 0 to 100", t.failUnder)}
	}
	if *run != "" {
		if t.run, err = regexp.Compile(*run); err != nil {
			return nil, &settings.UsageError{Text: fmt.Sprintf("--run=%s: %v", *run, err)}
		}
	}
	return paths, nil
}

// file runs the tests of one file and says which fail.
func (t *tester) file(name string) error {
	data, err := os.ReadFile(name)
	suite, problems := ruletest.Parse(descriptors.File{Name: name, Data: data, Err: bare(err)})
	if ruletest.HasErrors(problems) {
		return t.refuse(name, problems, 1)
	}
	files, problems := filesource.ReadPaths(below(filepath.Dir(name), suite.Rules))
	set, found := suite.Compile(files)
	if problems = append(problems, found...); ruletest.HasErrors(problems) {
		return t.refuse(name, problems, len(files))
	}
	t.met.Add(set)
	out := ruletest.SuiteResult{Name: name}
	for _, test := range suite.Tests {
		if t.run != nil && !t.run.MatchString(test.Name) {
			continue
		}
		result := suite.Run(test, set, &t.met)
		out.Results = append(out.Results, result)
		if !t.update {
			if err := t.tell(&result); err != nil {
				return err
			}
		}
	}
	t.suites = append(t.suites, out)
	if t.update {
		return t.rewrite(suite, out.Results)
	}
	return nil
}

// below are the paths that a file names relative to its folder.
func below(dir string, paths []string) []string {
	all := make([]string, len(paths))
	for i, path := range paths {
		if all[i] = path; !filepath.IsAbs(path) {
			all[i] = filepath.Join(dir, path)
		}
	}
	return all
}

func (t *tester) refuse(name string, problems []descriptors.Diagnostic, files int) error {
	t.unusable++
	var text bytes.Buffer
	if err := descriptors.WriteText(&text, problems, files); err != nil {
		return err
	}
	t.suites = append(t.suites, ruletest.SuiteResult{Name: name, Problem: text.String()})
	_, err := fmt.Fprintf(t.stdout, "FAIL %s cannot run:\n%s", name, &text)
	return err
}

// tell says how a test ended.
func (t *tester) tell(r *ruletest.Result) error {
	if len(r.Failures) == 0 {
		t.passed++
		if t.verbose {
			fmt.Fprintf(t.stdout, "ok   %s\n", r.Test.Name)
		}
		return nil
	}
	t.failed++
	fmt.Fprintf(t.stdout, "FAIL %s\n", r.Test.Name)
	for i := range r.Failures {
		if err := r.Failures[i].WriteText(t.stdout); err != nil {
			return err
		}
	}
	return nil
}

// rewrite takes the answers for what is expected, as far as that can be written.
func (t *tester) rewrite(suite *ruletest.Suite, results []ruletest.Result) error {
	data, left := suite.Update(results)
	for i := range results {
		if left > 0 {
			if err := t.tell(&results[i]); err != nil {
				return err
			}
			continue
		}
		t.passed++
		if len(results[i].Failures) > 0 {
			t.rewrote++
			fmt.Fprintf(t.stdout, "updated %s\n", results[i].Test.Name)
		}
	}
	if left > 0 {
		_, err := fmt.Fprintf(t.stdout, "%s: not updated: calls of one step differ; split it\n", suite.Name)
		return err
	}
	if t.rewrote == 0 {
		return nil
	}
	return os.WriteFile(suite.Name, data, 0o644)
}

// finish sums up, and writes what was asked for.
func (t *tester) finish() error {
	if t.junit != "" {
		var text bytes.Buffer
		if err := ruletest.WriteJUnit(&text, t.suites); err != nil {
			return err
		}
		if err := os.WriteFile(t.junit, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if t.coverage {
		if err := t.met.WriteText(t.stdout); err != nil {
			return err
		}
	}
	parts := []string{fmt.Sprintf("%d passed", t.passed)}
	if t.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.failed))
	}
	if t.unusable > 0 {
		parts = append(parts, fmt.Sprintf("files that cannot run: %d", t.unusable))
	}
	fmt.Fprintln(t.stdout, strings.Join(parts, ", "))
	short := t.met.Percent() < t.failUnder
	if short {
		t.printError(fmt.Sprintf("the tests meet %.1f%% of the rules and limits, less than %g%%", t.met.Percent(), t.failUnder))
	}
	if short || t.failed+t.unusable > 0 {
		return exitError(exitFailure)
	}
	return nil
}
