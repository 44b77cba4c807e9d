package ruletest

import (
	"slices"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Suite is one test file.
type Suite struct {
	Name  string
	Rules []string // paths of rules, relative to the file
	Tests []*Test
	// Reference tests the answers of PROFILE=ratelimit.
	Reference bool

	data []byte
	tree *descriptors.Tree
}

// Test is a story that begins with untouched buckets.
type Test struct {
	Name  string
	Place descriptors.Place
	start time.Time
	steps []step
}

// Steps counts the steps of a test.
func (t *Test) Steps() int { return len(t.steps) }

// step is a call, made a number of times at once, and the answer to it.
type step struct {
	place     descriptors.Place
	at        time.Duration // since the start of the test
	request   rls.Request
	times     int
	storeDown bool
	expect    expectation
}

// expectation is what an answer must be. What is not set is not looked at.
type expectation struct {
	code        *want
	fields      []want // in the order of the file
	descriptors []expectation
	listed      bool // descriptors is given
	node        *descriptors.Node
}

// want is one field of an answer, as text.
type want struct {
	what string
	text string
	node *descriptors.Node
}

// start is where the clock of a test begins unless it says otherwise: a
// boundary of every window but the week.
var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Parse reads a test file and reports all that is wrong with it. The suite has
// what could be read; it means nothing if there is an error.
func Parse(file descriptors.File) (*Suite, []descriptors.Diagnostic) {
	s := &Suite{Name: file.Name, data: file.Data, tree: descriptors.ParseTree(file)}
	if found := s.tree.Diagnostics(); HasErrors(found) {
		return s, found
	}
	p := &parser{tree: s.tree}
	for i, doc := range s.tree.Documents {
		if i > 0 {
			s.tree.Fail(doc, "", "a test file has one document")
			break
		}
		p.suite(s, doc)
	}
	found := s.tree.Diagnostics()
	if len(s.tree.Documents) == 0 && len(found) == 0 {
		found = append(found, descriptors.Diagnostic{Place: descriptors.Place{File: file.Name}, Message: "the file has no tests"})
	}
	return s, found
}

// Compile compiles rules as the server that the tests are for would.
func (s *Suite) Compile(files []descriptors.File) (*descriptors.Ruleset, []descriptors.Diagnostic) {
	opt := descriptors.Options{}
	if s.Reference {
		opt = descriptors.Options{Algorithm: buckets.FixedWindow, DeniedHits: descriptors.DeniedCharged, Unbounded: true}
	}
	return descriptors.Compile(files, nil, opt)
}

// HasErrors tells whether some of these diagnostics is an error.
func HasErrors(list []descriptors.Diagnostic) bool {
	return slices.ContainsFunc(list, func(d descriptors.Diagnostic) bool { return d.Severity == descriptors.Error })
}
