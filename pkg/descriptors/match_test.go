package descriptors

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern  string
		yes, no  []string
		literal  bool
		spelling string
	}{
		{`/api/*`, []string{"/api/", "/api/x", "/api/*"}, []string{"/api", "x/api/"}, false, `/api/*`},
		{`*`, []string{"", "x", "*"}, nil, false, `*`},
		{`a*a`, []string{"aa", "aba"}, []string{"a", "ab"}, false, `a*a`},
		{`a*b*c`, []string{"abc", "axbxc"}, []string{"acb", "abxbx"}, false, `a*b*c`},
		{`a**b`, []string{"ab", "axb"}, []string{"a"}, false, `a*b`},
		{`*ab*ab*`, []string{"abab", "xabyabz"}, []string{"ab", "aba"}, false, `*ab*ab*`},
		{`a\*b`, []string{"a*b"}, []string{"axb", `a\*b`}, true, `a\*b`},
		{`a\\*b`, []string{`a\b`, `a\xb`}, []string{`a\\*b`[:2]}, false, `a\\*b`},
		{`a\\\*b`, []string{`a\*b`}, []string{`a\xb`}, true, `a\\\*b`},
		{`C:\dir`, []string{`C:\dir`}, []string{`C:dir`}, true, `C:\\dir`},
		{`C:\\dir\*`, []string{`C:\\dir*`}, nil, true, `C:\\\\dir\*`},
		{``, []string{""}, []string{"x"}, true, ``},
		{`a|b*`, []string{"a|b", "a|bc"}, []string{"a", "b"}, false, `a\|b*`},
	} {
		p := parsePattern(c.pattern, mark{})
		if p.literal != c.literal || p.text != c.spelling {
			t.Errorf("%s: literal %t, text %s", c.pattern, p.literal, p.text)
		}
		matches := func(value string) bool {
			if p.literal {
				return value == p.prefix
			}
			return p.matches(value)
		}
		for _, value := range c.yes {
			if !matches(value) {
				t.Errorf("%s does not match %q", c.pattern, value)
			}
		}
		for _, value := range c.no {
			if matches(value) {
				t.Errorf("%s matches %q", c.pattern, value)
			}
		}
	}
}

// TestTriedInOrder has a rule of each kind that takes the value, and takes the
// one that wins away, again and again.
func TestTriedInOrder(t *testing.T) {
	t.Parallel()
	rules := []string{ // in the order in which they win for 10.1.2.3
		"value: 10.1.2.3", "value: '10.1.2*'", "value: '10.1*3'", "value: '10.1*'", "value: '*3'", "cidr: 10.1.0.0/16", "cidr: 10.0.0.0/8", "regex: '^10'", "regex: 3$",
		"",
	}
	for i := range rules {
		text := "domain: d\ndescriptors:\n"
		for k := len(rules) - 1; k >= i; k-- { // regexes keep the order of the list
			rule := rules[k]
			if strings.HasPrefix(rule, "regex") {
				rule = rules[len(rules)-3+len(rules)-2-k]
				if k < i || len(rules)-3+len(rules)-2-k < i {
					rule = rules[k]
				}
			}
			text += "- {key: ip"
			if rule != "" {
				text += ", " + rule
			}
			text += ", rate_limit: {unit: day, requests_per_unit: 1}}\n"
		}
		want := "matched d/ip"
		if _, value, found := strings.Cut(rules[i], ": "); found {
			want += "=" + strings.Trim(value, "'")
		}
		if got := ends(compiled(t, text), "d", "ip=10.1.2.3"); got != want {
			t.Errorf("%s, want %s, of\n%s", got, want, text)
		}
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	rs := compiled(t, `
domain: d
match: fallback
descriptors:
- {key: a, value: x, descriptors: [{key: b, value: y}]}
- {key: a, value: 'x*', descriptors: [{key: c}]}
- {key: a, regex: ^z, descriptors: [{key: b, value: y}]}
- {key: a, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}
`)
	var got []string
	m := rs.Domain("d").Observe(entries("a=x,b=z"), func(s Step) {
		path := "none"
		if s.Rule != nil {
			path = s.Rule.Path
		}
		got = append(got, fmt.Sprintf("%d %s %s %t", s.Depth, s.Kind, path, s.Taken))
	})
	want := []string{
		"0 exact d/a=x true", "1 exact none false",
		"0 pattern d/a=x* true",
		"0 regex d/a=^z false",
		"0 key d/a true", "1 key d/a/b true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if plain := rs.Domain("d").Match(entries("a=x,b=z")); plain != m {
		t.Errorf("Match %+v, Observe %+v", plain, m)
	}
}

// TestFallbackVisitsNoNodeTwice would take 2^60 steps if it did.
func TestFallbackVisitsNoNodeTwice(t *testing.T) {
	t.Parallel()
	const depth = 60
	text := "domain: d\nmatch: fallback\n"
	for i := range depth {
		pad := strings.Repeat("  ", i)
		text += pad + "descriptors:\n" + pad + "- key: k\n" + pad + "  values: ['a*', '*a', aa]\n"
	}
	descriptor := strings.TrimSuffix(strings.Repeat("k=aa,", depth), ",") + ",x=y"
	if got := ends(compiled(t, text), "d", descriptor); got != "depth" {
		t.Error(got)
	}
	text = strings.ReplaceAll(text, "values: ['a*', '*a', aa]", "cidr: [10.0.0.0/8, 10.0.0.0/16, 10.0.0.1/32]")
	if got := ends(compiled(t, text), "d", strings.ReplaceAll(descriptor, "aa", "10.0.0.1")); got != "depth" {
		t.Error(got)
	}
}

// rule is a rule of a random tree.
type rule struct {
	key, kind, text string
	children        []*rule
	limited         bool
}

// write writes rules as YAML.
func write(b *strings.Builder, rules []*rule, pad string) {
	for _, r := range rules {
		fmt.Fprintf(b, "%s- key: %s\n", pad, r.key)
		if r.kind != "" {
			fmt.Fprintf(b, "%s  %s: '%s'\n", pad, r.kind, r.text)
		}
		if r.limited {
			fmt.Fprintf(b, "%s  rate_limit: {unit: day, requests_per_unit: 1}\n", pad)
		}
		if len(r.children) > 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", pad)
			write(b, r.children, pad+"  ")
		}
	}
}

// takes is the slow, obvious way to tell whether a rule takes a value.
func (r *rule) takes(value string) bool {
	switch {
	case r.kind == "value" && strings.Contains(r.text, "*"):
		parts := strings.Split(r.text, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(value)
	case r.kind == "value":
		return value == r.text
	case r.kind == "cidr":
		addr, err := netip.ParseAddr(value)
		return err == nil && netip.MustParsePrefix(r.text).Contains(addr)
	case r.kind == "regex":
		return regexp.MustCompile(r.text).MatchString(value)
	}
	return true
}

// rank sorts the candidates of a level: the lowest is tried first.
func (r *rule) rank() []int {
	switch {
	case r.kind == "value" && strings.Contains(r.text, "*"):
		return []int{1, -strings.Index(r.text, "*"), -len(strings.ReplaceAll(r.text, "*", ""))}
	case r.kind == "value":
		return []int{0}
	case r.kind == "cidr":
		return []int{2, -netip.MustParsePrefix(r.text).Bits()}
	case r.kind == "regex":
		return []int{3}
	}
	return []int{4}
}

// slowMatch walks rules as the language says.
func slowMatch(rules []*rule, entries []Entry, path string, fallback bool) string {
	var candidates []*rule
	for _, r := range rules {
		if r.key == entries[0].Key && r.takes(entries[0].Value) {
			candidates = append(candidates, r)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *rule) int {
		if c := slices.Compare(a.rank(), b.rank()); c != 0 {
			return c
		}
		if a.kind == "value" {
			return strings.Compare(a.text, b.text)
		}
		return 0
	})
	for _, r := range candidates {
		at := path + "/" + r.key
		if r.kind != "" {
			at += "=" + r.text
		}
		found := ""
		switch {
		case len(entries) > 1:
			found = slowMatch(r.children, entries[1:], at, fallback)
		case r.limited || len(r.children) == 0:
			found = at
		}
		if found != "" || !fallback {
			return found
		}
	}
	return ""
}

var randomSelectors = [][2]string{
	{"", ""}, {"value", "a"}, {"value", "ab"}, {"value", "10.1.2.3"}, {"value", "a*"}, {"value", "*"}, {"value", "*b"}, {"value", "a*b"},
	{"value", "10.*"}, {"value", "*a*"}, {"value", "*.3"}, {"cidr", "10.0.0.0/8"}, {"cidr", "10.1.0.0/16"}, {"cidr", "0.0.0.0/0"}, {"regex", "^a"}, {"regex", "b$"}, {"regex", "1"},
}

// randomRules makes rules with no two equal nodes beside each other.
func randomRules(random *rand.Rand, depth int) []*rule {
	var rules []*rule
	seen := make(map[string]bool)
	for range 1 + random.IntN(7) {
		selector := randomSelectors[random.IntN(len(randomSelectors))]
		r := &rule{key: string(rune('j' + random.IntN(2))), kind: selector[0], text: selector[1], limited: random.IntN(2) == 0}
		if id := r.key + r.kind + r.text; seen[id] {
			continue
		} else {
			seen[id] = true
		}
		if depth > 0 && random.IntN(3) > 0 {
			r.children = randomRules(random, depth-1)
		}
		rules = append(rules, r)
	}
	return rules
}

// FuzzMatch compares random matches in random trees with the slow way.
func FuzzMatch(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, "a", "ab", "10.1.2.3")
	}
	f.Add(uint64(7), "", "\xff", "10.1.2.3.4")
	f.Fuzz(func(t *testing.T, seed uint64, v1, v2, v3 string) {
		random := rand.New(rand.NewPCG(seed, 1))
		rules := randomRules(random, 2)
		fallback := random.IntN(2) == 0
		var b strings.Builder
		b.WriteString("domain: d\n")
		if fallback {
			b.WriteString("match: fallback\n")
		}
		b.WriteString("descriptors:\n")
		write(&b, rules, "")
		domain := compiled(t, b.String()).Domain("d")
		values := []string{v1, v2, v3, "a", "ab", "b", "10.1.2.3", "10.2.2.3", "11.1.1.3", "xab"}
		for range 50 {
			descriptor := make([]Entry, 1+random.IntN(4))
			for i := range descriptor {
				descriptor[i] = Entry{Key: string(rune('j' + random.IntN(2))), Value: values[random.IntN(len(values))]}
			}
			got, want := "", slowMatch(rules, descriptor, "d", fallback)
			if m := domain.Match(descriptor); m.Rule != nil {
				got = m.Rule.Path
			}
			if got != want {
				t.Fatalf("%q matches %q, want %q in\n%s", descriptor, got, want, b.String())
			}
		}
	})
}
