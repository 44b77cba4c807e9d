package ruletest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls/ruletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rules = `
domain: shop
descriptors:
  - key: user
    rate_limit: {name: per-user, unit: minute, requests_per_unit: 2, algorithm: fixed_window}
  - key: look
    shadow_mode: true
    rate_limit: {name: trial, unit: minute, requests_per_unit: 1}
  - key: never
    rate_limit: {unit: year, requests_per_unit: 1}
`

func parse(t *testing.T, text string) *ruletest.Suite {
	t.Helper()
	suite, found := ruletest.Parse(descriptors.File{Name: "x_test.yaml", Data: []byte(text)})
	for _, d := range found {
		t.Fatalf("%s (%s)", d, d.Hint)
	}
	return suite
}

// run runs all tests of a suite.
func run(t *testing.T, suite *ruletest.Suite) ([]ruletest.Result, *ruletest.Coverage) {
	t.Helper()
	set, found := suite.Compile([]descriptors.File{{Name: "rules.yaml", Data: []byte(rules)}})
	if ruletest.HasErrors(found) {
		t.Fatal(found)
	}
	met := &ruletest.Coverage{}
	met.Add(set)
	var results []ruletest.Result
	for _, test := range suite.Tests {
		results = append(results, suite.Run(test, set, met))
	}
	return results, met
}

// failures lists what differs, in one line each.
func failures(results []ruletest.Result) []string {
	var all []string
	for _, r := range results {
		for _, f := range r.Failures {
			for _, d := range f.Diffs {
				all = append(all, strings.Join([]string{r.Test.Name, f.Place.String(), d.Field, d.Want, d.Got}, " | "))
			}
		}
	}
	return all
}

// head begins a suite of one test; steps follow.
const head = "rules: [rules.yaml]\ndomain: shop\ntests:\n- name: t\n  steps:\n"

// TestSteps has a row for each word of the language: the step passes as it is,
// and fails where something else is expected.
func TestSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps string
		want  []string // of what differs: field | expected | got
	}{
		"code":               {"- {send: {user: a}, expect: ok}", nil},
		"code differs":       {"- {send: {user: a}, expect: over_limit}", []string{"code | over_limit | ok"}},
		"times":              {"- {send: {user: a}, times: 3, expect: ok}", []string{"code | ok | over_limit"}},
		"only the last":      {"- {send: {user: a}, times: 2, expect: {code: ok, remaining: 0}}", nil},
		"rule":               {"- {send: {user: a}, expect: {rule: other}}", []string{"rule | other | per-user"}},
		"no rule":            {"- {send: {nobody: a}, expect: {rule: none, remaining: none, reset: none}}", nil},
		"reset":              {"- {at: 20s, send: {user: a}, expect: {reset: 40s, retry_after: none}}", nil},
		"retry_after":        {"- {at: 500ms, send: {user: a}, cost: 3, expect: {code: over_limit, reset: 59.5s, retry_after: 1m}}", nil},
		"time passes":        {"- {send: {user: a}, times: 2, expect: ok}\n- {at: 59s, send: {user: a}, expect: over_limit}\n- {at: 60s, send: {user: a}, expect: ok}", nil},
		"look":               {"- {send: {user: a}, look: true, expect: {code: ok, remaining: 2}}", nil},
		"refund":             {"- {send: {user: a}, expect: ok}\n- {send: {user: a}, refund: 1, expect: {remaining: 2}}", nil},
		"hits_addend":        {"- {send: {user: a}, hits_addend: 2, expect: {remaining: 0}}", nil},
		"override":           {"- {send: {user: a}, override: {requests_per_unit: 9, unit: minute}, expect: {remaining: 8}}", nil},
		"override's unit":    {"- {send: {user: a}, override: {requests_per_unit: 9, unit: hour, unit_multiplier: 2}, expect: {reset: 2h}}", nil},
		"headers":            {"- {send: {user: a}, expect: {headers: {RateLimit-Remaining: 1, X-RateLimit-Rule: per-user, Retry-After: none}}}", nil},
		"headers differ":     {"- {send: {user: a}, expect: {headers: {ratelimit-limit: 3}}}", []string{"headers.ratelimit-limit | 3 | 2"}},
		"shadow":             {"- {send: {look: a}, times: 2, expect: {code: ok, rule: none, would_deny: [trial], request_headers: {x-ratelimit-rule: trial}}}", nil},
		"store down":         {"- {send: {user: a}, store: down, expect: unavailable}", nil},
		"invalid":            {"- {descriptors: [{send: {user: a}, override: {requests_per_unit: 1, unit: week}}, {user: b}], expect: ok}", nil},
		"several":            {"- {descriptors: [{user: a}, {send: {user: b}, cost: 3}], expect: {code: over_limit, descriptors: [{code: ok, remaining: 2}, over_limit]}}", nil},
		"several differ":     {"- {descriptors: [{user: a}, {user: b}], expect: {descriptors: [ok, {code: over_limit, rule: x, reset: 1s}]}}", []string{"descriptors[1].code | over_limit | ok", "descriptors[1].rule | x | per-user", "descriptors[1].reset | 1s | 1m"}},
		"entries in order":   {"- {send: [{user: a}, {user: b}], expect: {rule: none}}", nil},
		"each value its own": {"- {send: {user: a}, times: 2, expect: ok}\n- {send: {user: b}, expect: ok}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, _ := run(t, parse(t, head+"  "+strings.ReplaceAll(c.steps, "\n", "\n  ")+"\n"))
			var got []string
			for _, f := range results[0].Failures {
				for _, d := range f.Diffs {
					got = append(got, d.Field+" | "+d.Want+" | "+d.Got)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// Each test has its own buckets, its own start, and the profile of the file.
func TestWorlds(t *testing.T) {
	t.Parallel()
	suite := parse(t, `
rules: [rules.yaml]
profile: ratelimit
tests:
- {name: a, domain: shop, steps: [{send: {user: a}, times: 2, expect: ok}]}
- {name: b, domain: shop, steps: [{send: {user: a}, times: 2, expect: {code: ok, remaining: 0}}]}
- name: a look at exactly the limit passes
  domain: shop
  start: 2026-05-04T10:00:30Z
  steps:
  - {send: {user: a}, times: 2, expect: {code: ok, reset: 30s}}
  - {send: {user: a}, look: true, expect: ok}
`)
	results, _ := run(t, suite)
	if got := failures(results); got != nil {
		t.Errorf("failures: %q", got)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	_, met := run(t, parse(t, head+"  - {send: {user: a}, times: 3, expect: ok}\n  - {send: {look: a}, expect: ok}\n"))
	if got := int(met.Percent()); got != 66 {
		t.Errorf("%d%%, want 66", got)
	}
	var text strings.Builder
	if err := met.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `coverage: 66.7% (2 of 3 rules and limits)
  rules.yaml:8:5: met, but never over: trial
  rules.yaml:10:5: no test meets shop/never
`
	got := strings.NewReplacer(":8:17", ":8:5", ":10:17", ":10:5").Replace(text.String())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestUpdate: what is expected is rewritten in its place, and nothing else; then
// the tests pass.
func TestUpdate(t *testing.T) {
	t.Parallel()
	const before = `rules: [rules.yaml]   # of the shop
domain: shop
tests:
  - name: "t"

    steps:
      - {send: {user: a}, times: 2, expect: over_limit} # both
      - send: {user: a}
        expect:   # the third
          code:  ok      # no
          rule: 'x'
          headers: {"Retry-After": "1", X-None: 5}
      - {descriptors: [{user: b}, {nobody: c}], expect: {descriptors: [{code: ok, remaining: 7}, {code: over_limit, rule: y}]}}
`
	const after = `rules: [rules.yaml]   # of the shop
domain: shop
tests:
  - name: "t"

    steps:
      - {send: {user: a}, times: 2, expect: ok} # both
      - send: {user: a}
        expect:   # the third
          code:  over_limit      # no
          rule: "per-user"
          headers: {"Retry-After": "60", X-None: none}
      - {descriptors: [{user: b}, {nobody: c}], expect: {descriptors: [{code: ok, remaining: 1}, {code: ok, rule: none}]}}
`
	suite := parse(t, before)
	results, _ := run(t, suite)
	data, left := suite.Update(results)
	if diff := cmp.Diff(after, string(data)); diff != "" || left != 0 {
		t.Fatalf("%d left; file (-want +got):\n%s", left, diff)
	}
	results, _ = run(t, parse(t, string(data)))
	if got := failures(results); got != nil {
		t.Errorf("after the update: %q", got)
	}
}

// What calls of one step, or steps that share a value, want to be different
// cannot be rewritten.
func TestUpdateLeaves(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"calls differ":   "  - {send: {user: a}, times: 3, expect: ok}\n",
		"a shared value": "  - {send: {user: a}, expect: {remaining: &r 5}}\n  - {send: {user: a}, expect: {remaining: *r}}\n",
	} {
		suite := parse(t, head+steps)
		results, _ := run(t, suite)
		if _, left := suite.Update(results); left != 1 {
			t.Errorf("%s: %d left, want 1", name, left)
		}
	}
}

// TestBomb: a file that aliases make huge is refused in no time.
func TestBomb(t *testing.T) {
	t.Parallel()
	times := func(n int, what string) string { return "[" + strings.Repeat(what+", ", n) + what + "]" }
	text := "x-e: &e " + times(300, "{a: b}") + "\nx-d: &d {descriptors: " + times(300, "{send: *e}") + ", expect: ok}\nx-s: &s {name: t, domain: d, steps: " +
		times(300, "*d") + "}\nrules: [r]\ntests: " + times(300, "*s") + "\n"
	_, found := ruletest.Parse(descriptors.File{Name: "x_test.yaml", Data: []byte(text)})
	if !ruletest.HasErrors(found) || !strings.Contains(fmt.Sprint(found), "aliases make the file much larger") {
		t.Errorf("diagnostics: %v", found)
	}
}

// FuzzParse: no file makes the parser panic, and what it accepts runs.
func FuzzParse(f *testing.F) {
	f.Add(head + "  - {at: 1s, send: {user: a}, times: 2, cost: 3, expect: {code: ok, headers: {a: b}, descriptors: [ok]}}\n")
	f.Add("rules: &r [*r]\ntests: [{steps: [{descriptors: [{send: [{a: b}], refund: 1}], expect: {would_deny: [a]}}]}]")
	f.Add("{rules: [x], tests: [{name: a, start: 2026-01-01, domain: d, steps: [{store: down, override: {unit: day}, look: yes}]}]}")
	set, _ := descriptors.Compile([]descriptors.File{{Name: "rules.yaml", Data: []byte(rules)}}, nil, descriptors.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		suite, found := ruletest.Parse(descriptors.File{Name: "x_test.yaml", Data: []byte(text)})
		if ruletest.HasErrors(found) || strings.Contains(text, "times") {
			return
		}
		var results []ruletest.Result
		for _, test := range suite.Tests {
			results = append(results, suite.Run(test, set, nil))
		}
		suite.Update(results)
	})
}
