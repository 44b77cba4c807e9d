package envoyconf

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// matchText tells whether a StringMatcher takes a value; unknown names what of it
// cannot be known.
func matchText(m *node, value string) (ok bool, unknown string) {
	fold := text(field(m, "ignore_case")) == "true"
	fit := func(s string) string {
		if fold {
			return strings.ToLower(s)
		}
		return s
	}
	for name, test := range map[string]func(s, part string) bool{
		"exact":    func(s, part string) bool { return s == part },
		"prefix":   strings.HasPrefix,
		"suffix":   strings.HasSuffix,
		"contains": strings.Contains,
	} {
		if of := field(m, name); of != nil {
			return test(fit(value), fit(of.Text)), ""
		}
	}
	if of := field(m, "safe_regex"); of != nil {
		return matchRegex(text(field(of, "regex")), value)
	}
	return false, "a matcher of another kind"
}

// matchRegex tells whether a regular expression takes the whole of a value.
func matchRegex(expr, value string) (ok bool, unknown string) {
	re, err := regexp.Compile(`\A(?:` + expr + `)\z`)
	if err != nil {
		return false, "the regular expression " + expr
	}
	return re.MatchString(value), ""
}

// The ways of old to say what string_match says, by the new ones.
var oldMatches = map[string]string{
	"exact_match": "exact", "prefix_match": "prefix", "suffix_match": "suffix", "contains_match": "contains",
}

// matchHeader tells whether a HeaderMatcher takes the request.
func (s *seen) matchHeader(m *node) (ok bool, unknown string) {
	value, found := s.header(text(field(m, "name")))
	if !found && text(field(m, "treat_missing_header_as_empty")) == "true" {
		found = true
	}
	invert := text(field(m, "invert_match")) == "true"
	if present := field(m, "present_match"); present != nil {
		return (found == (present.Text == "true")) != invert, ""
	}
	if !found {
		return false, "" // nor does it match inverted
	}
	ok, unknown = matchHeaderValue(m, value)
	return ok != invert, unknown
}

func matchHeaderValue(m *node, value string) (ok bool, unknown string) {
	if of := field(m, "string_match"); of != nil {
		return matchText(of, value)
	}
	if of := field(m, "safe_regex_match"); of != nil {
		return matchRegex(text(field(of, "regex")), value)
	}
	if of := field(m, "range_match"); of != nil {
		n, err := strconv.ParseInt(value, 10, 64)
		from, _ := strconv.ParseInt(text(field(of, "start")), 10, 64)
		to, _ := strconv.ParseInt(text(field(of, "end")), 10, 64)
		return err == nil && from <= n && n < to, ""
	}
	for old, name := range oldMatches {
		if of := field(m, old); of != nil {
			return matchText(&node{Pairs: pairs(name, of)}, value)
		}
	}
	return true, "" // present
}

// matchQuery tells whether a QueryParameterMatcher takes the request.
func (s *seen) matchQuery(m *node) (ok bool, unknown string) {
	value, found := s.query(text(field(m, "name")))
	if present := field(m, "present_match"); present != nil {
		return found == (present.Text == "true"), ""
	}
	of := field(m, "string_match")
	if of == nil || !found {
		return found, ""
	}
	return matchText(of, value)
}

// all tells whether a list of matchers takes the request: every one of them.
func all(list *node, match func(*node) (bool, string)) (ok bool, unknown string) {
	for _, m := range items(list) {
		ok, what := match(m)
		if !ok && what == "" {
			return false, ""
		}
		if what != "" {
			unknown = what
		}
	}
	return true, unknown
}

func pairs(name string, value *node) []descriptors.Pair {
	return []descriptors.Pair{{Key: &node{Kind: descriptors.TextNode, Text: name}, Value: value}}
}
