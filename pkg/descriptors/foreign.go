package descriptors

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// What people put where rules belong: objects of Kubernetes around them,
// templates that were not rendered, Envoy's side of rate limiting. Each is
// recognised by what it cannot be without, and told apart from a mistake in a
// rule.

// foreignWords explain fields of Envoy's that have no counterpart in a rule.
var foreignWords = []struct{ word, hint string }{
	{"entries", "a rule names one entry by key and value; the next entry is a rule below it, under descriptors"},
	{"actions", "actions belong to the routes of Envoy's configuration; a rule has the keys and values that they make"},
	{"token_bucket", "that is Envoy's local rate limit; here write rate_limit: {unit: second, requests_per_unit: 10, burst: 20}"},
	{"stage", "stages belong to the routes of Envoy's configuration"},
	{"hits_addend", "what a call costs is said by the route in Envoy's configuration"},
	{"failure_mode_deny", "that belongs to Envoy's filter; here on_store_error says what a limit answers"},
	{"timeout", "that belongs to Envoy's filter"},
}

func foreignWord(word string) string {
	word = strings.ToLower(word)
	for _, f := range foreignWords {
		if f.word == word {
			return f.hint
		}
	}
	return ""
}

// foreign reports a document that is something else than rules, in one
// sentence instead of one for each of its fields.
func (d *decoder) foreign(n *yaml.Node) bool {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		return false
	}
	fields := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		fields[n.Content[i].Value] = n.Content[i+1]
	}
	kind := fields["kind"]
	switch {
	case fields["apiVersion"] != nil && kind != nil:
		d.kubernetes(kind, fields["data"])
	case fields["static_resources"] != nil, fields["@type"] != nil, fields["http_filters"] != nil, fields["route_config"] != nil:
		d.fail(n, "rules have domain: and descriptors: at the top; envoy-rls explain --envoy reads this file", "this is a configuration of Envoy, not rules")
	case hasActions(fields["rate_limits"]):
		d.fail(n, "a rule has the keys and values that the actions make; see docs/guides/rules.md", "rate_limits with actions belong to the routes of Envoy's configuration")
	case isTemplate(n):
		d.template(n)
	default:
		return false
	}
	return true
}

// hasActions tells whether a list is one of Envoy's rate_limits.
func hasActions(list *yaml.Node) bool {
	if list == nil || target(list).Kind != yaml.SequenceNode || len(target(list).Content) == 0 {
		return false
	}
	first := target(target(list).Content[0])
	return first.Kind == yaml.MappingNode && slices.ContainsFunc(first.Content, func(n *yaml.Node) bool { return n.Value == "actions" })
}

// kubernetes explains an object of Kubernetes. Rules may be within it.
func (d *decoder) kubernetes(kind, data *yaml.Node) {
	name := "object of kind " + quoted(target(kind).Value)
	if target(kind).Value == "ConfigMap" {
		name = "ConfigMap"
	}
	var within []string
	if data != nil {
		data = target(data)
		for i := 0; i+1 < len(data.Content); i += 2 {
			if strings.Contains(target(data.Content[i+1]).Value, "domain:") {
				within = append(within, "data."+data.Content[i].Value)
			}
		}
	}
	hint := "rules have domain: and descriptors: at the top"
	if len(within) > 0 {
		hint = "the rules are the text of " + oneOf(within[:min(len(within), 3)]) + ": save that as a file of its own, or mount the ConfigMap as a folder and name the folder"
	}
	d.fail(kind, hint, "this is a Kubernetes %s, not rules", name)
}

const renderHint = "render it first (helm template), and check what comes out"

// isTemplate tells whether a map is what YAML makes of {{ … }}.
func isTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 &&
		n.Content[0].Kind == yaml.MappingNode && n.Content[0].Style&yaml.FlowStyle != 0
}

func (d *decoder) template(n *yaml.Node) {
	d.fail(n, renderHint, "%s is {{ … }}, a template that nobody has rendered", d.field())
}

// templateText tells whether a text holds a template.
func templateText(text string) bool {
	_, rest, opened := strings.Cut(text, "{{")
	return opened && strings.Contains(rest, "}}")
}

// templateLine finds the first line with {{ outside of a comment, from 1; 0 if
// there is none.
func templateLine(data []byte) (line, col int32) {
	for text := range bytes.Lines(data) {
		line++
		at := bytes.Index(text, []byte("{{"))
		if comment := bytes.IndexByte(text, '#'); at >= 0 && (comment < 0 || at < comment) && bytes.Contains(text[at:], []byte("}}")) {
			return line, int32(utf8.RuneCount(text[:at])) + 1
		}
	}
	return 0, 0
}
