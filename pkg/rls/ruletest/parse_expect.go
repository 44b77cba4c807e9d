package ruletest

import (
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// What can be expected of a call, and of one of its descriptors.
var (
	codes            = []string{"ok", "over_limit", "invalid", "unavailable"}
	expectFields     = []string{"code", "rule", "remaining", "reset", "retry_after", "headers", "request_headers", "would_deny", "descriptors"}
	descriptorFields = []string{"code", "rule", "remaining", "reset"}
)

// none is what is expected to be absent.
const none = "none"

// expect reads an expectation: a code alone, or a map. whole says that it is of a
// call, not of a descriptor.
func (p *parser) expect(n *descriptors.Node, whole bool) expectation {
	e := expectation{node: n}
	if n.Kind == descriptors.TextNode {
		e.code = p.code(n, whole)
		return e
	}
	known := descriptorFields
	if whole {
		known = expectFields
	}
	ok := p.fields(n, "expect", known, func(name string, value *descriptors.Node) {
		switch name {
		case "code":
			e.code = p.code(value, whole)
		case "headers", "request_headers":
			p.headers(&e, name, value)
		case "descriptors":
			e.listed = true
			for _, item := range p.list(value, name) {
				e.descriptors = append(e.descriptors, p.expect(item, false))
			}
		default:
			e.fields = append(e.fields, want{name, p.field(name, value), value})
		}
	})
	if ok && len(n.Pairs) == 0 {
		p.tree.Fail(n, "", "nothing is expected here")
	}
	return e
}

func (p *parser) code(n *descriptors.Node, whole bool) *want {
	known := codes
	if !whole {
		known = codes[:2]
	}
	text := p.text(n, "code")
	if n.Kind == descriptors.TextNode && !contains(known, text) {
		p.tree.Fail(n, descriptors.DidYouMean(text, known), "unknown code %q", text)
	}
	return &want{"code", text, n}
}

// field is the text of an expected field, in the form in which answers are
// written.
func (p *parser) field(name string, n *descriptors.Node) string {
	if name == "would_deny" && n.Kind == descriptors.ListNode {
		var labels []string
		for _, item := range n.Items {
			labels = append(labels, p.text(item, name))
		}
		return strings.Join(labels, ", ")
	}
	text := p.text(n, name)
	if text == none || n.Kind != descriptors.TextNode {
		return text
	}
	switch name {
	case "remaining":
		p.number(n, name, 0, 1<<53)
	case "reset", "retry_after":
		return durationText(p.duration(n, name))
	}
	return text
}

func (p *parser) headers(e *expectation, field string, n *descriptors.Node) {
	if n.Kind != descriptors.MapNode {
		p.tree.Fail(n, "", "%s must be a map of names and values, not %s", field, n.Kind)
		return
	}
	for _, pair := range n.Pairs {
		e.fields = append(e.fields, want{field + "." + strings.ToLower(pair.Key.Text), p.text(pair.Value, "a header"), pair.Value})
	}
}
