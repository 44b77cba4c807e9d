package filesource

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Every is how often a source looks by default.
const Every = 500 * time.Millisecond

// Source finds the rule files below some paths. It is a [descriptors.Source].
type Source struct {
	paths  []string
	every  time.Duration
	now    func() time.Time
	forced chan struct{}

	before *sight             // the last look
	told   *sight             // the look that was last read
	kept   []kept             // what was last emitted
	held   []descriptors.Hold // with it
	meant  []bool             // for each path: that it has no files is meant
}

// kept is a file as last emitted.
type kept struct {
	descriptors.File
	root int // index of the path it is below
}

// New makes a source of files and folders. A path need not exist yet. every is
// how often it looks; 0 means Every.
func New(paths []string, every time.Duration) *Source {
	if every <= 0 {
		every = Every
	}
	return &Source{
		paths:  slices.Clone(paths),
		every:  every,
		now:    time.Now,
		forced: make(chan struct{}, 1),
		meant:  make([]bool, len(paths)),
	}
}

// Reload makes the source emit what there is now, as a forced snapshot. It may
// be called at any time, from any goroutine, and does not wait.
func (s *Source) Reload() {
	select {
	case s.forced <- struct{}{}:
	default: // one is on its way already
	}
}

// Run looks until ctx is done. The first look is told at once.
func (s *Source) Run(ctx context.Context, emit func(descriptors.Snapshot)) error {
	ticks := time.NewTicker(s.every)
	defer ticks.Stop()
	s.look(emit)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.forced:
			s.force(emit)
		case <-ticks.C:
			s.look(emit)
		}
	}
}

// look emits a snapshot if the files have changed and have come to rest.
func (s *Source) look(emit func(descriptors.Snapshot)) {
	begun := s.before != nil
	seen := look(s.paths)
	settled := !begun || seen.equal(s.before)
	s.before = seen
	if !settled || s.told != nil && seen.equal(s.told) && !seen.fresh(s.now()) {
		return
	}
	files := readAll(seen)
	if begun && !look(s.paths).equal(seen) {
		return // it moved while it was read
	}
	s.told = seen
	files, held := s.hold(seen, files)
	if begun && slices.EqualFunc(files, s.kept, same) && slices.Equal(held, s.held) {
		return
	}
	s.tell(emit, files, held, false)
}

// force emits what there is, changed or not. A folder that is empty is meant to
// be; one that is not there, or cannot be read, nobody means.
func (s *Source) force(emit func(descriptors.Snapshot)) {
	seen := look(s.paths)
	s.before, s.told = seen, seen
	for i := range s.meant {
		s.meant[i] = seen.missing[i] == emptyFolder
	}
	files, held := s.hold(seen, readAll(seen))
	s.tell(emit, files, held, true)
}

func (s *Source) tell(emit func(descriptors.Snapshot), files []kept, held []descriptors.Hold, forced bool) {
	s.kept, s.held = files, held
	snapshot := descriptors.Snapshot{Held: slices.Clone(held), Forced: forced}
	for i := range files {
		snapshot.Files = append(snapshot.Files, files[i].File)
	}
	emit(snapshot)
}

func readAll(seen *sight) []kept {
	var files []kept
	for i := range seen.entries {
		files = append(files, kept{read(&seen.entries[i]), seen.entries[i].root})
	}
	return files
}

func same(a, b kept) bool {
	return a.Name == b.Name && bytes.Equal(a.Data, b.Data) && errorText(a.Err) == errorText(b.Err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
