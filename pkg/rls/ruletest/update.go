package ruletest

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
)

// Update rewrites what the failures of results expected to what they got, each
// value in its place: everything else of the file stays as it is. left counts
// what cannot be rewritten so: calls of one step that differ, or a value that
// several steps share through an anchor and that they want to be different.
func (s *Suite) Update(results []Result) (data []byte, left int) {
	edits := map[[2]int]string{}
	for _, r := range results {
		for i := range r.Failures {
			f := &r.Failures[i]
			for _, d := range f.Diffs {
				at, ok := s.editable(f, &d)
				old, taken := edits[at]
				if !ok || taken && old != d.Got {
					left++
					continue
				}
				edits[at] = d.Got
			}
		}
	}
	places := make([][2]int, 0, len(edits))
	for at := range edits {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b [2]int) int { return b[0] - a[0] })
	data = bytes.Clone(s.data)
	for _, at := range places {
		text := scalar(edits[at], data[at[0]])
		data = slices.Replace(data, at[0], at[1], []byte(text)...)
	}
	return data, left
}

// editable finds the text of an expected value.
func (s *Suite) editable(f *Failure, d *Diff) (at [2]int, ok bool) {
	if d.node == nil || f.Call < f.Calls || !f.uniform && d.Field == "code" {
		return at, false
	}
	from, to, ok := s.tree.Source(d.node)
	return [2]int{from, to}, ok
}

// plain is text that needs no quotes in YAML, wherever it stands.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./=*@-]*$`)

// scalar is a text as YAML, in quotes if it needs them or the old one had some.
func scalar(text string, old byte) string {
	if old != '"' && old != '\'' && plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}
