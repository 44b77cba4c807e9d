package descriptors

import (
	"cmp"
	"fmt"
	"slices"
)

// maxDiagnostics is where collecting ends: nobody reads further.
const maxDiagnostics = 10_000

// report collects the diagnostics of a set of files.
type report struct {
	sources []*source
	list    []Diagnostic
	errors  int // also those that are left out
	left    int
	seen    map[string]struct{}
}

// source numbers a text for marks.
func (r *report) source(s *source) int32 {
	r.sources = append(r.sources, s)
	return int32(len(r.sources))
}

func (r *report) place(at mark) Place {
	if at.src == 0 {
		return Place{}
	}
	src := r.sources[at.src-1]
	if src.paths != nil {
		return Place{File: src.name}
	}
	return Place{File: src.name, Line: int(at.line), Col: int(at.col)}
}

// line is where something stands within its file.
func (r *report) line(at mark) string {
	if at.line == 0 {
		return r.place(at).String()
	}
	return fmt.Sprintf("line %d", at.line)
}

// add reports a problem once, however often an alias leads to it.
func (r *report) add(at mark, d Diagnostic) {
	if d.Severity == Error {
		r.errors++
	}
	d.Place = r.place(at)
	if at.src != 0 && r.sources[at.src-1].paths != nil {
		d.Path = r.sources[at.src-1].paths[at.col-1]
	}
	id := d.String()
	if _, again := r.seen[id]; again {
		return
	}
	if len(r.list) >= maxDiagnostics {
		r.left++
		return
	}
	if at.src != 0 && at.line != 0 {
		d.Source, d.sourceCol = r.sources[at.src-1].excerpt(at)
	}
	if at.length != 0 {
		d.EndCol = int(at.col + at.length)
	}
	if r.seen == nil {
		r.seen = make(map[string]struct{})
	}
	r.seen[id] = struct{}{}
	r.list = append(r.list, d)
}

// of fills in the domain of all that was reported since the list was from long.
func (r *report) of(domain string, from int) {
	for i := from; i < len(r.list); i++ {
		r.list[i].Domain = domain
	}
}

func (r *report) sorted() []Diagnostic {
	slices.SortStableFunc(r.list, func(a, b Diagnostic) int {
		return cmp.Or(a.compare(b.Place), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	if r.left > 0 {
		r.list = append(r.list, Diagnostic{
			Place:    Place{File: r.list[len(r.list)-1].File},
			Severity: Error,
			Message:  fmt.Sprintf("%d further problems are left out", r.left),
		})
	}
	return r.list
}

func (r *report) error(at mark, domain, message, hint string) {
	r.add(at, Diagnostic{Severity: Error, Domain: domain, Message: message, Hint: hint})
}

func (r *report) warn(at mark, domain, message, hint string) {
	r.add(at, Diagnostic{Severity: Warning, Domain: domain, Message: message, Hint: hint})
}

func (r *report) note(at mark, domain, message, hint string) {
	r.add(at, Diagnostic{Severity: Note, Domain: domain, Message: message, Hint: hint})
}
