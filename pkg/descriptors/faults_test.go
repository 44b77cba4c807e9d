package descriptors

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// Faults that users of other rate limiters met in rule files, one test each.

func TestC1FlagInLimit(t *testing.T) {
	t.Parallel()
	_, diagnostics := Compile(yamlFiles("domain: shop\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1, shadow_mode: true}}]"), nil, Options{})
	if len(diagnostics) != 1 {
		t.Fatalf("problems: %v", diagnostics)
	}
	d := diagnostics[0]
	if d.Path != "descriptors[0].rate_limit.shadow_mode" || d.Hint != "did you mean descriptors[0].shadow_mode?" || d.Severity != Error || d.Domain != "shop" {
		t.Errorf("%+v", d)
	}
}

func TestC2LimitInDescriptor(t *testing.T) {
	t.Parallel()
	wantProblems(t, problems("domain: shop\ndescriptors: [{key: k, unit: minute, requests_per_unit: 3}]"),
		"a.yaml:2:24: error: unit does not belong in descriptor",
		"a.yaml:2:38: error: requests_per_unit does not belong in descriptor")
}

func TestC4MissingAmount(t *testing.T) {
	t.Parallel()
	wantProblems(t, problems(limited("unit: minute")), "a.yaml:4:15: error: requests_per_unit is missing")
	if l := oneLimit(t, "unit: minute, requests_per_unit: 0", Options{}); l.Bucket.Amount != 0 || l.Unlimited {
		t.Errorf("0 means %+v", l)
	}
}

func TestC5SecondDocument(t *testing.T) {
	t.Parallel()
	text := "domain: one\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 3}}]\n---\n" +
		"domain: two\ndescriptors: [{key: b, rate_limit: {unit: %s, requests_per_unit: 3}}]\n"
	wantProblems(t, problems(fmt.Sprintf(text, "fortnight")), `a.yaml:5:43: error: unknown unit "fortnight"`)
	rs := compiled(t, fmt.Sprintf(text, "hour"))
	if ends(rs, "one", "a=1") != "matched one/a" || ends(rs, "two", "b=1") != "matched two/b" {
		t.Error(listing(rs))
	}
}

func TestC6RepeatedField(t *testing.T) {
	t.Parallel()
	wantProblems(t, problems("domain: d\ndescriptors: [{key: a}]\ndescriptors: [{key: b}]\n"),
		`a.yaml:3:1: error: "descriptors" is written twice: first at line 2`)
}

func TestC7Numbers(t *testing.T) {
	t.Parallel()
	for number, hint := range map[string]string{
		"0100": "leading zero; write 100 or 64", "1_000": "write 1000", "1e3": "write 1000",
		"0x10": "write 16", "1.0": "write 1", "+5": "write 5", "1:30": "", "00": "write 0", "089": "leading zero; write 89",
	} {
		_, diagnostics := Compile(yamlFiles(limited("unit: minute, requests_per_unit: "+number)), nil, Options{})
		if len(diagnostics) != 1 || diagnostics[0].Hint != hint || diagnostics[0].Severity != Error {
			t.Errorf("%s: %+v", number, diagnostics)
		}
	}
}

func TestC8TextsAreVerbatim(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1.10", "18446744073709551615", "010", "0x10", "no", "yes", "1e3", "2026-01-01", "0o7", ".5", "Infinity"} {
		rs := compiled(t, "domain: d\ndescriptors: [{key: k, value: "+text+", rate_limit: {unit: day, requests_per_unit: 1}}]")
		if got := ends(rs, "d", "k="+text); got != "matched d/k="+text {
			t.Errorf("%s: %s", text, got)
		}
	}
	rs := compiled(t, "domain: d\ndescriptors: [{key: k, value: 010}, {key: k, value: no}]")
	for _, other := range []string{"8", "false"} {
		if got := ends(rs, "d", "k="+other); got != "value" {
			t.Errorf("%s: %s", other, got)
		}
	}
}

func TestC9KeysOfMetadata(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors: [{key: k, metadata: {m: {n: 2, y: 3, on: 4, off: 5}}}]")
	m := rs.Domain("d").Match(entries("k=1")).Rule.Metadata["m"].(map[string]any)
	for key, want := range map[string]float64{"n": 2, "y": 3, "on": 4, "off": 5} {
		if m[key] != want {
			t.Errorf("%s is %v", key, m[key])
		}
	}
}

func TestC11TwoPeriods(t *testing.T) {
	t.Parallel()
	wantProblems(t, problems("domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: second, requests_per_unit: 1}}\n- {key: k, rate_limit: {unit: day, requests_per_unit: 9}}\n"),
		`a.yaml:4:24: error: key "k" has a limit already, at a.yaml:3:24`)
	rs := compiled(t, "domain: d\ndescriptors:\n- {key: k, rate_limits: [{unit: second, requests_per_unit: 1}, {unit: day, requests_per_unit: 9}]}\n")
	if n := len(rs.Limits()); n != 2 {
		t.Errorf("%d limits", n)
	}
}

func TestC12OneBadDomain(t *testing.T) {
	t.Parallel()
	var texts []string
	for i := range 10 {
		unit := "minute"
		if i == 3 {
			unit = "fortnight"
		}
		texts = append(texts, fmt.Sprintf("domain: d%d\ndescriptors: [{key: k, rate_limit: {unit: %s, requests_per_unit: 1}}]", i, unit))
	}
	rs, _ := Compile(yamlFiles(texts...), nil, Options{})
	for i := range 10 {
		d := rs.Domain(fmt.Sprintf("d%d", i))
		if d.Rejected != (i == 3) || d.Usable() == d.Rejected {
			t.Errorf("%s: rejected %t, usable %t", d.Name, d.Rejected, d.Usable())
		}
	}
	if rs.UnknownUnavailable || len(rs.Limits()) != 9 {
		t.Errorf("unknown unavailable: %t, %d limits", rs.UnknownUnavailable, len(rs.Limits()))
	}
}

func TestC13DomainInTwoFiles(t *testing.T) {
	t.Parallel()
	x := "domain: p\ndescriptors:\n- {key: x, rate_limit: {unit: day, requests_per_unit: 1}}\n"
	rs := compiled(t, x, "domain: p\ndescriptors:\n- {key: y, rate_limit: {unit: day, requests_per_unit: 1}}\n")
	if ends(rs, "p", "x=1") != "matched p/x" || ends(rs, "p", "y=1") != "matched p/y" {
		t.Error(listing(rs))
	}
	wantProblems(t, problems(x, x), `b.yaml:3:24: error: key "x" has a limit already, at a.yaml:3:24`)
}

func TestC15UnlimitedWithNumbers(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"requests_per_unit: 7", "unit: banana", "unit: day", "burst: 1", "denied_hits: free"} {
		got := problems(limited("unlimited: true, " + limit))
		if len(got) == 0 || !strings.Contains(got[0], "error") {
			t.Errorf("%s: %v", limit, got)
		}
	}
}

func TestC16Replaces(t *testing.T) {
	t.Parallel()
	rule := func(name, replaces string) string {
		return "- {key: " + name + ", rate_limit: {unit: day, requests_per_unit: 1, name: " + name + ", replaces: [{name: " + replaces + "}]}}\n"
	}
	top := "domain: d\ndescriptors:\n"
	got := problems(top + rule("n1", "n2") + rule("n2", "n1"))
	if len(got) != 1 || !strings.Contains(got[0], "replaces cycle n1 -> n2 -> n1") {
		t.Error(got)
	}
	wantProblems(t, problems(top+rule("n1", "n9")), `a.yaml:3:87: warning: no limit of domain "d" has the name "n9"`)
	// A ring across files and documents, and one reached from outside.
	got = problems(top+rule("n1", "n2"), top+rule("n2", "n3"), top+rule("n3", "n2")+rule("n4", "n1"))
	if len(got) != 1 || !strings.Contains(got[0], "replaces cycle n2 -> n3 -> n2") {
		t.Error(got)
	}
}

func TestC17MostSpecificPattern(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors:\n- {key: w, value: 'api/*', rate_limit: {unit: day, requests_per_unit: 9}}\n- {key: w, value: 'api/v1/*', rate_limit: {unit: day, requests_per_unit: 1}}\n")
	if got := ends(rs, "d", "w=api/v1/foo"); got != "matched d/w=api/v1/*" {
		t.Error(got)
	}
}

func TestC24Encodings(t *testing.T) {
	t.Parallel()
	rules := "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, requests_per_unit: 1}\n"
	for name, text := range map[string]string{
		"BOM":   "\ufeff" + rules,
		"CRLF":  strings.ReplaceAll(rules, "\n", "\r\n"),
		"JSON":  `{"domain": "d", "descriptors": [{"key": "k", "rate_limit": {"unit": "day", "requests_per_unit": 1}}]}`,
		"x-":    "x-common: &a {unit: day, requests_per_unit: 1}\ndomain: d\ndescriptors: [{key: k, rate_limit: *a}]",
		"merge": "x-a: &a {unit: day, requests_per_unit: 9}\ndomain: d\ndescriptors: [{key: k, rate_limit: {<<: [*a], requests_per_unit: 1}}]",
	} {
		if got := ends(compiled(t, text), "d", "k=1"); got != "matched d/k" {
			t.Errorf("%s: %s", name, got)
		}
	}
	wantProblems(t, problems("domain: d\ndescriptors:\n\t- key: k\n"), "a.yaml:3:2: error: not YAML")
}

func TestC26FlagsInVain(t *testing.T) {
	t.Parallel()
	wantProblems(t, problems("domain: d\ndescriptors:\n- {key: a, shadow_mode: true, quota_mode: true, detailed_metric: true, value_to_metric: true}\n"),
		"a.yaml:3:25: warning: shadow_mode has no effect without a limit",
		"a.yaml:3:43: warning: quota_mode has no effect beside shadow_mode",
		"a.yaml:3:43: warning: quota_mode has no effect without a limit",
		"a.yaml:3:66: warning: detailed_metric has no effect without a limit",
		"a.yaml:3:89: warning: value_to_metric has no effect beside detailed_metric")
}

// K1: no two different rules share the text that names their bucket.
func TestK1SharedTextsDiffer(t *testing.T) {
	t.Parallel()
	rules := []string{
		"value: 'a*'", "regex: 'a*'", `value: 'a|b*'`, "values: [a, 'b*']", `value: '\/a*'`, `values: ['a\*', 'b*']`,
		"values: [a, b]", "value: 'a|b|*'", "cidr: 10.0.0.0/8", `value: '\:10.0.0.0/8*'`, "regex: '10.0.0.0/8'",
		"values: ['\\\\', '|*']", `value: '\|*'`, "value: '*'", "value: '**a'", `value: '\**'`,
	}
	seen := make(map[string]string)
	for _, rule := range rules {
		rs := compiled(t, "domain: d\ndescriptors:\n- {key: k, "+rule+", share_threshold: true, rate_limit: {unit: day, requests_per_unit: 1}}\n")
		text := rs.Limits()[0].Rule.Marks[0].Text
		if other := seen[text]; other != "" {
			t.Errorf("%s and %s share the text %q", rule, other, text)
		}
		seen[text] = rule
	}
}

func TestK2BytesAreValues(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors:\n- {key: k, value: 'a*', rate_limit: {unit: day, requests_per_unit: 1}}\n- {key: k, rate_limit: {unit: day, requests_per_unit: 1}}\n")
	if got := ends(rs, "d", "k=a\xff\xfe"); got != "matched d/k=a*" {
		t.Error(got)
	}
	if got := ends(rs, "d", "k=\xff\xfe\x00"); got != "matched d/k" {
		t.Error(got)
	}
}

func TestK5UnicodeIsNotNormalised(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors: [{key: k, value: \"\\u00e9\"}, {key: k, value: \"a\\nb\\0c☃\"}]")
	for value, want := range map[string]string{"é": "whitelisted d/k=é", "e\u0301": "value", "a\nb\x00c☃": "whitelisted d/k=a\nb\x00c☃"} {
		if got := ends(rs, "d", "k="+value); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestK6AddressesHaveOneMeaning(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors:\n- {key: ip, cidr: ['2001:db8::/32', 10.0.0.0/8]}\n- {key: ip, value: '2001:db8::1'}\n")
	for value, want := range map[string]string{
		"2001:db8::1":           "whitelisted d/ip=2001:db8::1",
		"2001:0db8:0:0:0:0:0:1": "whitelisted d/ip=10.0.0.0/8|2001:db8::/32",
		"::ffff:10.1.2.3":       "whitelisted d/ip=10.0.0.0/8|2001:db8::/32",
		"10.1.2.3":              "whitelisted d/ip=10.0.0.0/8|2001:db8::/32",
		"2001:db8::2%eth0":      "whitelisted d/ip=10.0.0.0/8|2001:db8::/32",
		"11.1.2.3":              "value",
		"10.1.2":                "value",
		"":                      "value",
	} {
		if got := ends(rs, "d", "ip="+value); got != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestK8EmptyDescriptors(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors: [{key: k}]", "domain: none\ndescriptors: []")
	if m := rs.Domain("d").Match(nil); m.Rule != nil || m.Reason != TooShort {
		t.Errorf("no entries: %+v", m)
	}
	if m := rs.Domain("d").Match([]Entry{{}}); m.Rule != nil || m.Reason != NoKey {
		t.Errorf("empty key: %+v", m)
	}
	if m := rs.Domain("none").Match(entries("k=v")); m.Rule != nil || m.Reason != TooDeep {
		t.Errorf("no rules: %+v", m)
	}
}

func TestK10Fallback(t *testing.T) {
	t.Parallel()
	text := `
domain: d
descriptors:
- {key: fb, value: gold, descriptors: [{key: path, value: /x, rate_limit: {unit: day, requests_per_unit: 1}}]}
- {key: fb, descriptors: [{key: path, rate_limit: {unit: day, requests_per_unit: 5}}]}
`
	if got := ends(compiled(t, text), "d", "fb=gold,path=/other"); got != "value" {
		t.Errorf("by default: %s", got)
	}
	wantProblems(t, problems(text), `a.yaml:4:3: warning: key "fb" with value "gold" hides the rule for key "fb" alone`)
	text = "match: fallback" + text
	rs := compiled(t, text)
	for descriptor, want := range map[string]string{
		"fb=gold,path=/other":    "matched d/fb/path",
		"fb=gold,path=/x":        "matched d/fb=gold/path=/x",
		"fb=gold,path=/x,more=1": "depth",
		"fb=gold":                "short",
		"fb=silver,path=/x":      "matched d/fb/path",
		"fb=gold,query=1":        "key",
	} {
		if got := ends(rs, "d", descriptor); got != want {
			t.Errorf("%s: %s, want %s", descriptor, got, want)
		}
	}
	wantProblems(t, problems(text))
}

func TestK11Depth(t *testing.T) {
	t.Parallel()
	rs := compiled(t, "domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: day, requests_per_unit: 1}\n- key: b\n  descriptors: [{key: c}]\n")
	for descriptor, want := range map[string]string{"a=1": "matched d/a", "a=1,b=1": "depth", "b=1": "short", "b=1,c=1": "whitelisted d/b/c", "x=1": "key"} {
		if got := ends(rs, "d", descriptor); got != want {
			t.Errorf("%s: %s, want %s", descriptor, got, want)
		}
	}
}

// K14: an override where no rule matches has something to stand on.
func TestK14DefaultLimit(t *testing.T) {
	t.Parallel()
	rs, _ := Compile(yamlFiles("domain: d\ndescriptors: []", "domain: x\ndefaults: {algorithm: leaky_bucket, denied_hits: free}"), nil, Options{OnStoreError: PolicyDeny, Unbounded: true})
	for domain, want := range map[string]string{
		"d": "3/1 day, token_bucket:86400 burst 3, denied auto, store error deny",
		"x": "3/1 day, leaky_bucket:86400 burst 3, denied free, store error deny",
	} {
		template := rs.DefaultLimit(rs.Domain(domain))
		l, err := template.Override(3, Day, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := describeLimit(l); got != want || l.Index != -1 || l.Label != "override" || !template.Bucket.Unbounded {
			t.Errorf("%s: %s, %+v", domain, got, l)
		}
	}
}

// L7: a panic of the YAML library ends at the document: it is a problem of the
// file, and the other domains load.
func TestL7PanicsEndAtTheDocument(t *testing.T) {
	t.Parallel()
	if _, err := next(yaml.NewDecoder(breaking{})); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}

// breaking is a reader that panics, as the library does on some input.
type breaking struct{}

func (breaking) Read([]byte) (int, error) { panic("broken") }
