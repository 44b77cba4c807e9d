package filesource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of what is looked at.
const (
	maxFiles = 10_000
	maxDepth = 32
)

// entry is a file as a look finds it. Two entries that are equal are taken for
// the same content, unless the file was written just now.
type entry struct {
	name     string // as it is shown: below the path that was given
	root     int    // index of that path
	resolved string // without symbolic links
	size     int64
	modified int64 // in ns since the epoch
	inode    uint64
	problem  string // why it cannot be read; then nothing else is known
	folder   bool   // of one with a problem: it is a folder
}

// sight is what one look finds.
type sight struct {
	entries []entry  // by path given, then by name
	missing []string // for each path given: why nothing is there; "" if there is something
}

func (s *sight) equal(t *sight) bool {
	return slices.Equal(s.entries, t.entries) && slices.Equal(s.missing, t.missing)
}

// walker is one look at all paths.
type walker struct {
	sight
	files map[string]bool // resolved paths of files found
	root  int             // the path given that is in hand
	found bool            // and whether anything is below it
	open  []string        // resolved folders around the one in hand
}

// look lists the rule files below paths.
func look(paths []string) *sight {
	w := &walker{files: make(map[string]bool)}
	w.missing = make([]string, len(paths))
	for i, path := range paths {
		w.root, w.found = i, false
		if w.path(path); !w.found {
			w.missing[i] = missing(path)
		}
	}
	return &w.sight
}

// path looks at a path that was given: a file of any name, or a folder.
func (w *walker) path(path string) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.problem(path, err, false)
	case info.IsDir():
		w.folder(path)
	default:
		w.file(path, info)
	}
}

func (w *walker) folder(path string) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.problem(path, err, true)
		return
	}
	if slices.Contains(w.open, resolved) {
		return // a loop of symbolic links
	}
	if len(w.open) >= maxDepth {
		w.problem(path, fmt.Errorf("folders more than %d levels deep", maxDepth), true)
		return
	}
	list, err := os.ReadDir(path)
	if err != nil {
		w.problem(path, err, true)
		return
	}
	w.open = append(w.open, resolved)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	for _, item := range list {
		if !hidden(item.Name()) && len(w.entries) <= maxFiles {
			w.item(filepath.Join(path, item.Name()))
		}
	}
}

// item looks at a file or folder in a folder.
func (w *walker) item(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil && isRuleFile(path):
		w.problem(path, err, false)
	case err != nil:
	case info.IsDir():
		w.folder(path)
	case isRuleFile(path):
		w.file(path, info)
	}
}

func (w *walker) file(path string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		w.problem(path, errors.New("not a regular file"), false)
		return
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.problem(path, err, false)
		return
	}
	w.found = true
	if w.files[resolved] {
		return
	}
	w.files[resolved] = true
	if len(w.entries) >= maxFiles {
		w.problem(path, fmt.Errorf("more than %d files", maxFiles), false)
		return
	}
	w.entries = append(w.entries, entry{
		name:     path,
		root:     w.root,
		resolved: resolved,
		size:     info.Size(),
		modified: info.ModTime().UnixNano(),
		inode:    inode(info),
	})
}

func (w *walker) problem(path string, err error, folder bool) {
	// The path is shown anyway.
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	w.found = true
	resolved := path
	if len(w.open) > 0 {
		resolved = filepath.Join(w.open[len(w.open)-1], filepath.Base(path))
	}
	if w.files[resolved] {
		return
	}
	w.files[resolved] = true
	w.entries = append(w.entries, entry{name: path, root: w.root, problem: err.Error(), folder: folder})
}

// hidden tells whether a name is a dotfile or an editor's.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~")
}

func isRuleFile(path string) bool {
	ext := filepath.Ext(path)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) &&
		!strings.HasSuffix(strings.TrimSuffix(path, ext), "_test")
}

// recent is how long the time of a file may not tell two writes apart.
const recent = 2 * time.Second

// fresh tells whether a file was written so shortly before now that a further
// write may leave its time as it is.
func (e *entry) fresh(now time.Time) bool {
	age := now.Sub(time.Unix(0, e.modified))
	return e.problem == "" && -recent < age && age < recent
}

func (s *sight) fresh(now time.Time) bool {
	return slices.ContainsFunc(s.entries, func(e entry) bool { return e.fresh(now) })
}
