package descriptors

import (
	"cmp"
	"context"
	"slices"
)

// Source finds rule files and tells when they change.
type Source interface {
	// Run calls emit with the files as they are, and again whenever they have
	// changed, until ctx is done; it returns the cause of that, or why it cannot
	// go on. It calls emit from one goroutine, and waits for it.
	Run(ctx context.Context, emit func(Snapshot)) error
}

// Snapshot is all rule files at one time.
type Snapshot struct {
	Files []File
	// Held lists what the source holds back: the files in their place are those
	// from before.
	Held []Hold
	// Forced says that the operator asked for it: nothing is to be held.
	Forced bool
	// Loaded, if set, is told what came of the snapshot, also if nothing has
	// changed. It is called before emit returns.
	Loaded func(Load)
}

// Hold is a file or folder that looks like one in the middle of being written.
// What it held before stays in force until it has rules again, or until a forced
// reload says that it is meant.
type Hold struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Load is the outcome of looking at a snapshot.
type Load struct {
	// Ruleset is what is in force from now on; nil as long as nothing is.
	Ruleset *Ruleset
	// Generation counts the rulesets: it is that of the load before where the
	// rules in force did not change.
	Generation  uint64
	Diagnostics []Diagnostic
	Held        []Hold
	Files       int
	// Refused says that Options.Strict kept the new rules from loading.
	Refused bool
}

// Sound says that all rules are in force as they stand in the files.
func (l *Load) Sound() bool {
	return !l.Refused && len(l.Held) == 0 && !slices.ContainsFunc(l.Diagnostics, isError)
}

// Loader compiles what a source finds. What is in error, or looks half-written,
// keeps its last good rules.
type Loader struct {
	source  Source
	options Options

	load Load
	hash string
	good map[string]File // files as last put in force, those with rules
}

// NewLoader makes a loader; Run makes it work.
func NewLoader(source Source, options Options) *Loader {
	return &Loader{source: source, options: options}
}

// Run calls apply with each load, from one goroutine, until ctx is done. What is
// unchanged is no load.
func (l *Loader) Run(ctx context.Context, apply func(Load)) error {
	return l.source.Run(ctx, func(s Snapshot) {
		if l.take(s) {
			apply(l.load)
		}
		if s.Loaded != nil {
			s.Loaded(l.load)
		}
	})
}

// take looks at a snapshot, and tells whether that changed anything.
func (l *Loader) take(s Snapshot) bool {
	files := slices.Clone(s.Files)
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	if len(files) == 0 && (!s.Forced || len(s.Held) > 0) {
		return l.note(s.Held, l.hash)
	}
	log := &report{}
	set := gather(files, l.load.Ruleset, log)
	held := slices.Clone(s.Held)
	if !s.Forced {
		if holds := l.restore(files, set); len(holds) > 0 {
			held = append(held, holds...)
			log = &report{}
			set = gather(files, l.load.Ruleset, log)
		}
	}
	if sum := hash(files, l.options); sum == l.hash {
		return l.note(held, sum)
	}
	rs, diagnostics := set.compile(files, l.load.Ruleset, l.options, log)
	l.note(held, hash(files, l.options))
	l.load.Diagnostics, l.load.Files, l.load.Refused = diagnostics, len(files), rs == nil
	if rs != nil {
		l.load.Ruleset = rs
		l.load.Generation++
		l.remember(files, set)
	}
	return true
}

// note keeps what is held and of which files the load is, and tells whether the
// former changed.
func (l *Loader) note(held []Hold, sum string) bool {
	changed := !slices.Equal(held, l.load.Held)
	l.load.Held, l.hash = held, sum
	return changed
}

// restore puts the last good content in the place of files that look
// half-written.
func (l *Loader) restore(files []File, set *fileSet) []Hold {
	var holds []Hold
	for i := range files {
		reason, half := set.half[files[i].Name]
		good, known := l.good[files[i].Name]
		if half && known {
			files[i] = good
			holds = append(holds, Hold{good.Name, reason})
		}
	}
	return holds
}

func (l *Loader) remember(files []File, set *fileSet) {
	l.good = make(map[string]File, len(files))
	for _, file := range files {
		if _, half := set.half[file.Name]; !half {
			l.good[file.Name] = file
		}
	}
}
