package ruletest

import (
	"strconv"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// The fields of each level, for messages.
var (
	suiteFields    = []string{"rules", "profile", "domain", "tests"}
	testFields     = []string{"name", "domain", "start", "steps"}
	stepFields     = []string{"at", "send", "descriptors", "times", "cost", "refund", "look", "override", "hits_addend", "store", "expect"}
	sendFields     = []string{"send", "cost", "refund", "look", "override"}
	overrideFields = []string{"requests_per_unit", "unit", "unit_multiplier"}
)

// Bounds of a test file.
const (
	maxTimes = 1_000_000
	maxYears = 20
)

// parser turns the nodes of a test file into tests. It goes on after an error, to
// find them all.
type parser struct {
	tree   *descriptors.Tree
	domain string // of the whole file
	last   time.Duration
}

// fields visits the fields of a map that its level knows.
func (p *parser) fields(n *descriptors.Node, level string, known []string, visit func(name string, value *descriptors.Node)) bool {
	if n.Kind != descriptors.MapNode {
		p.tree.Fail(n, "", "%s must be a map, not %s", level, n.Kind)
		return false
	}
	for _, pair := range n.Pairs {
		name := pair.Key.Text
		switch {
		case contains(known, name):
			visit(name, pair.Value)
		case level != "a test file" || !strings.HasPrefix(name, "x-"):
			p.tree.Fail(pair.Key, descriptors.DidYouMean(name, known), "unknown field %q in %s", name, level)
		}
	}
	return true
}

func contains(list []string, name string) bool {
	for _, item := range list {
		if item == name {
			return true
		}
	}
	return false
}

func (p *parser) suite(s *Suite, n *descriptors.Node) {
	if domain := n.Get("domain"); domain != nil {
		p.domain = p.text(domain, "domain")
	}
	ok := p.fields(n, "a test file", suiteFields, func(name string, value *descriptors.Node) {
		switch name {
		case "rules":
			for _, item := range p.list(value, name) {
				s.Rules = append(s.Rules, p.text(item, "a path of rules"))
			}
		case "profile":
			switch p.text(value, name) {
			case "native", "":
			case "ratelimit":
				s.Reference = true
			default:
				p.tree.Fail(value, "", "unknown profile %q: write native or ratelimit", value.Text)
			}
		case "tests":
			for _, item := range p.list(value, name) {
				s.Tests = append(s.Tests, p.test(item))
			}
		}
	})
	if !ok {
		return
	}
	for _, name := range []string{"rules", "tests"} {
		if n.Get(name) == nil {
			p.tree.Fail(n, "", "%s is missing in this test file", name)
		}
	}
	p.uniqueNames(s, n)
}

// uniqueNames: a test is found by its name.
func (p *parser) uniqueNames(s *Suite, n *descriptors.Node) {
	first := map[string]descriptors.Place{}
	tests := n.Get("tests")
	for i, t := range s.Tests {
		name := tests.Items[i].Get("name")
		if other, taken := first[t.Name]; taken && name != nil {
			p.tree.Fail(name, "", "the test at line %d has the same name", other.Line)
		}
		first[t.Name] = t.Place
	}
}

func (p *parser) test(n *descriptors.Node) *Test {
	t := &Test{Place: p.tree.Place(n), start: start}
	domain := p.domain
	if given := n.Get("domain"); given != nil {
		domain = p.text(given, "domain")
	}
	p.last = 0
	ok := p.fields(n, "a test", testFields, func(name string, value *descriptors.Node) {
		switch name {
		case "name":
			t.Name = p.text(value, name)
			t.Place = p.tree.Place(value)
		case "start":
			t.start = p.time(value)
		case "steps":
			for _, item := range p.list(value, name) {
				t.steps = append(t.steps, p.step(item, domain))
			}
		}
	})
	if !ok {
		return t
	}
	for _, name := range []string{"name", "steps"} {
		if n.Get(name) == nil {
			p.tree.Fail(n, "", "%s is missing in this test", name)
		}
	}
	if domain == "" && n.Get("domain") == nil {
		p.tree.Fail(n, "name it in the test or once for the file", "domain is missing in this test")
	}
	return t
}

func (p *parser) text(n *descriptors.Node, what string) string {
	if n.Kind != descriptors.TextNode {
		p.tree.Fail(n, "", "%s must be a single value, not %s", what, n.Kind)
	}
	return n.Text
}

func (p *parser) list(n *descriptors.Node, what string) []*descriptors.Node {
	if n.Kind != descriptors.ListNode {
		p.tree.Fail(n, "", "%s must be a list, not %s", what, n.Kind)
	} else if len(n.Items) == 0 {
		p.tree.Fail(n, "", "%s has nothing in it", what)
	}
	return n.Items
}

func (p *parser) number(n *descriptors.Node, what string, least, most uint64) uint64 {
	text := p.text(n, what)
	if n.Kind != descriptors.TextNode {
		return least
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number < least || number > most {
		p.tree.Fail(n, "", "%s must be a whole number from %d to %d, not %q", what, least, most, text)
		return least
	}
	return number
}

func (p *parser) truth(n *descriptors.Node, what string) bool {
	text := p.text(n, what)
	if n.Kind == descriptors.TextNode && text != "true" && text != "false" {
		p.tree.Fail(n, "", "%s must be true or false, not %q", what, text)
	}
	return text == "true"
}

func (p *parser) duration(n *descriptors.Node, what string) time.Duration {
	text := p.text(n, what)
	if n.Kind != descriptors.TextNode {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		p.tree.Fail(n, durationHint(text), "%s must be a duration, not %q", what, text)
	case d < 0 || d%time.Microsecond != 0 || d > maxYears*365*24*time.Hour:
		p.tree.Fail(n, "", "%s must be whole microseconds, from none to %d years", what, maxYears)
	default:
		return d
	}
	return 0
}

func durationHint(text string) string {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return "write " + strconv.FormatFloat(number, 'f', -1, 64) + "s for seconds"
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		if number, err := strconv.ParseUint(days, 10, 16); err == nil {
			return "write " + strconv.FormatUint(24*number, 10) + "h"
		}
	}
	return "write a number and a unit, such as 500ms, 12s, 1m30s or 24h"
}

func (p *parser) time(n *descriptors.Node) time.Time {
	text := p.text(n, "start")
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, text); err != nil {
			p.tree.Fail(n, "write it like 2026-03-29T00:30:00+01:00", "start must be a time, not %q", text)
			return start
		}
	}
	if t.Year() < 1971 || t.Year() > 2200 {
		p.tree.Fail(n, "", "start must lie from 1971 to 2200")
		return start
	}
	return t
}
