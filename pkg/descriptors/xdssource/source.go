package xdssource

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Source gets rules from a control plane. It is a [descriptors.Source].
type Source struct {
	options Options
	forced  chan struct{}
}

// New makes a source; Run makes it work.
func New(options Options) *Source {
	return &Source{options: options.complete(), forced: make(chan struct{}, 1)}
}

// Reload has files with defaults read anew, and applies at once what waits. It
// may be called at any time, from any goroutine, and does not wait.
func (s *Source) Reload() {
	select {
	case s.forced <- struct{}{}:
	default: // one is on its way already
	}
	if defaults, ok := s.options.Defaults.(interface{ Reload() }); ok {
		defaults.Reload()
	}
}

// answer is a response of the server.
type answer struct {
	version string
	first   bool // of its stream
	files   []descriptors.File
	unnamed bool // some file's resource has no name that could be read
	verdict chan verdict
}

// verdict is what came of an answer.
type verdict struct {
	problem string // why it is refused; "" = it is accepted
	held    bool   // it is accepted, and waits
}

// Run gets rules until ctx is done. Nothing is told before the server's first
// answer.
func (s *Source) Run(ctx context.Context, emit func(descriptors.Snapshot)) error {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	r := &running{options: &s.options, emit: emit}
	answers, ends, defaults := make(chan *answer), make(chan struct{}), make(chan descriptors.Snapshot)
	c := &client{
		options: s.options,
		judge:   func(ctx context.Context, a *answer) (verdict, bool) { return ask(ctx, answers, a) },
		ended:   func(ctx context.Context) { send(ctx, ends, struct{}{}) },
	}
	helpers.Go(func() { c.run(ctx) })
	if s.options.Defaults != nil {
		helpers.Go(func() {
			err := s.options.Defaults.Run(ctx, func(found descriptors.Snapshot) { send(ctx, defaults, found) })
			if ctx.Err() == nil {
				s.options.Log.Error("rule files with defaults are looked at no more", "error", err)
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case a := <-answers:
			a.verdict <- r.answer(a)
		case <-ends:
			r.waiting, r.due = nil, nil
		case found := <-defaults:
			r.defaultsFound(found)
		case <-s.forced:
			r.apply()
		case <-r.due:
			r.apply()
		}
	}
}

// ask has an answer judged by the goroutine of Run.
func ask(ctx context.Context, to chan<- *answer, a *answer) (verdict, bool) {
	a.verdict = make(chan verdict, 1)
	if !send(ctx, to, a) {
		return verdict{}, false
	}
	select {
	case v := <-a.verdict:
		return v, true
	case <-ctx.Done():
		return verdict{}, false
	}
}

func send[T any](ctx context.Context, to chan<- T, value T) bool {
	select {
	case to <- value:
		return true
	case <-ctx.Done():
		return false
	}
}

// running is what one Run knows.
type running struct {
	options *Options
	emit    func(descriptors.Snapshot)

	answered bool
	rules    []descriptors.File // of the last answer that applied
	defaults descriptors.Snapshot
	waiting  *answer // an empty one
	due      <-chan time.Time
}

// answer applies an answer, or has it wait.
func (r *running) answer(a *answer) verdict {
	r.waiting, r.due = nil, nil
	if len(a.files) == 0 && a.first {
		r.options.Log.Warn("the first answer of an xDS stream has no rules: it applies later, or on SIGHUP, unless another one comes",
			"delay", r.options.emptyDelay, "version", a.version)
		r.waiting, r.due = a, time.After(r.options.emptyDelay)
		return verdict{held: true}
	}
	r.rules, r.answered = r.keepUnnamed(a), true
	return verdict{problem: r.tell(false)}
}

// apply puts in force what waits.
func (r *running) apply() {
	if r.waiting == nil {
		return
	}
	r.waiting, r.due = nil, nil
	r.rules, r.answered = nil, true
	r.tell(false)
}

// keepUnnamed keeps resources that are missing from an answer as long as one in
// it may be any of them.
func (r *running) keepUnnamed(a *answer) []descriptors.File {
	files := a.files
	if !a.unnamed {
		return files
	}
	for _, before := range r.rules {
		if !slices.ContainsFunc(files, func(f descriptors.File) bool { return f.Name == before.Name }) {
			files = append(files, before)
		}
	}
	return files
}

// defaultsFound takes a look at files with defaults.
func (r *running) defaultsFound(found descriptors.Snapshot) {
	forced := found.Forced
	found.Files = slices.Clone(found.Files)
	for i := range found.Files {
		found.Files[i].DefaultsOnly = true
	}
	// A folder that is not there is no fault here: rules come from elsewhere.
	found.Held = slices.DeleteFunc(slices.Clone(found.Held), func(h descriptors.Hold) bool {
		return !slices.ContainsFunc(found.Files, func(f descriptors.File) bool {
			return f.Name == h.Path || strings.HasPrefix(f.Name, h.Path+"/")
		})
	})
	r.defaults = found
	if r.answered {
		r.tell(forced)
	}
}

// tell emits all files, and says what is wrong with those of the server.
func (r *running) tell(forced bool) string {
	files := append(slices.Clone(r.defaults.Files), r.rules...)
	var loaded descriptors.Load
	r.emit(descriptors.Snapshot{
		Files:  files,
		Held:   r.defaults.Held,
		Forced: forced || len(files) == 0, // without rules is what the server means
		Loaded: func(l descriptors.Load) { loaded = l },
	})
	return problem(&loaded, r.rules)
}

// What a refusal says at most.
const (
	maxProblems     = 10
	maxProblemBytes = 4096
)

// problem lists the errors in resources of the server; "" if there are none.
func problem(load *descriptors.Load, resources []descriptors.File) string {
	names := make(map[string]bool, len(resources))
	for i := range resources {
		names[resources[i].Name] = true
	}
	var lines []string
	for i := range load.Diagnostics {
		d := &load.Diagnostics[i]
		if d.Severity != descriptors.Error || !names[d.File] {
			continue
		}
		if len(lines) == maxProblems {
			lines = append(lines, "and more")
			break
		}
		lines = append(lines, d.String())
	}
	text := strings.Join(lines, "; ")
	if len(text) > maxProblemBytes {
		text = text[:maxProblemBytes] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
