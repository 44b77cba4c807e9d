package filesource

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree is a folder of a test, and a source that looks when it is told to.
type tree struct {
	t      *testing.T
	path   string
	source *Source
	got    []string
}

func newTree(t *testing.T, paths ...string) *tree {
	t.Helper()
	w := &tree{t: t, path: t.TempDir()}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for i := range paths {
		paths[i] = filepath.Join(w.path, paths[i])
	}
	w.source = New(paths, 0)
	// Files are old: their times tell all writes apart.
	w.source.now = func() time.Time { return time.Now().Add(time.Hour) }
	return w
}

func (w *tree) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *tree) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.path, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

func (w *tree) link(target, name string) {
	w.t.Helper()
	path := filepath.Join(w.path, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.Symlink(target, path+".new"))
	w.must(os.Rename(path+".new", path))
}

func (w *tree) remove(name string) {
	w.t.Helper()
	w.must(os.RemoveAll(filepath.Join(w.path, name)))
}

// emit notes a snapshot as text: names and contents.
func (w *tree) emit(s descriptors.Snapshot) {
	var parts []string
	for _, file := range s.Files {
		name, err := filepath.Rel(w.path, file.Name)
		w.must(err)
		text := name + "=" + string(file.Data)
		if file.Err != nil {
			text = name + "!" + file.Err.Error()
		}
		parts = append(parts, text)
	}
	for _, hold := range s.Held {
		name, err := filepath.Rel(w.path, hold.Path)
		w.must(err)
		parts = append(parts, "held "+name+": "+hold.Reason)
	}
	if s.Forced {
		parts = append(parts, "forced")
	}
	w.got = append(w.got, strings.Join(parts, " "))
}

// looks has the source look n times, and says what it told.
func (w *tree) looks(n int, want ...string) {
	w.t.Helper()
	w.got = nil
	for range n {
		w.source.look(w.emit)
	}
	w.check(want)
}

func (w *tree) check(want []string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.got); diff != "" {
		w.t.Fatalf("snapshots (-want +got):\n%s", diff)
	}
}

func (w *tree) force(want ...string) {
	w.t.Helper()
	w.got = nil
	w.source.force(w.emit)
	w.check(want)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("a.yaml", "1")
	w.looks(3, "a.yaml=1")
	w.write("a.yaml", "22")
	w.looks(1)
	w.looks(3, "a.yaml=22")
	w.write("b.yml", "3")
	w.write("sub/c.json", "4")
	w.looks(3, "a.yaml=22 b.yml=3 sub/c.json=4")
	w.remove("b.yml")
	w.looks(3, "a.yaml=22 sub/c.json=4")
}

// TestTornWrite does not tell a file that changes from look to look.
func TestTornWrite(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("a.yaml", "1")
	w.looks(1, "a.yaml=1")
	for i := range 5 {
		w.write("a.yaml", strings.Repeat("x", 10+i))
		w.looks(1)
	}
	w.looks(2, "a.yaml=xxxxxxxxxxxxxx")
}

// TestSameSizeAndTime finds a change that left size, time and inode as they were.
func TestSameSizeAndTime(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.source.now = time.Now
	when := time.Now()
	touch := func() { w.must(os.Chtimes(filepath.Join(w.path, "a.yaml"), when, when)) }
	w.write("a.yaml", "1")
	touch()
	w.looks(2, "a.yaml=1")
	w.write("a.yaml", "2")
	touch()
	w.looks(2, "a.yaml=2")
}

func TestL4TouchedOnly(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("a.yaml", "1")
	w.looks(1, "a.yaml=1")
	when := time.Now().Add(-time.Hour)
	w.must(os.Chtimes(filepath.Join(w.path, "a.yaml"), when, when))
	w.looks(3)
}

func TestRename(t *testing.T) {
	t.Parallel()
	w := newTree(t, "rules")
	w.write("rules/a.yaml", "1")
	w.looks(1, "rules/a.yaml=1")
	w.write("elsewhere", "2")
	w.must(os.Rename(filepath.Join(w.path, "elsewhere"), filepath.Join(w.path, "rules/a.yaml")))
	w.looks(3, "rules/a.yaml=2")
	w.must(os.Rename(filepath.Join(w.path, "rules/a.yaml"), filepath.Join(w.path, "rules/b.yaml")))
	w.looks(3, "rules/b.yaml=2")
	w.must(os.Rename(filepath.Join(w.path, "rules"), filepath.Join(w.path, "old")))
	w.write("rules/b.yaml", "3")
	w.looks(3, "rules/b.yaml=3")
}

// C20 and C21: what stands beside rule files is passed over, folders are read.
func TestC20C21StrayFiles(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	for _, name := range []string{
		"README.md", ".a.swp", ".a.yaml", "#a.yaml#", "a.yaml~", ".#a.yaml", "a.yaml.bak", "a_test.yaml", "a_test.yml", "a_test.json", "noext", ".git/a.yaml", "#dir/a.yaml", "dir~/a.yaml",
	} {
		w.write(name, "no")
	}
	w.write("a.yaml", "1")
	w.write("sub/sub/_test_.yaml", "2")
	w.looks(2, "a.yaml=1 sub/sub/_test_.yaml=2")
}

// L1: a ConfigMap is files that link to ..data/NAME, and ..data, a link that is
// swapped.
func TestL1L4ConfigMap(t *testing.T) {
	t.Parallel()
	w := newTree(t, "mount")
	w.write("mount/..2026_1/a.yaml", "1")
	w.write("mount/..2026_1/b.yaml", "1")
	w.link("..2026_1", "mount/..data")
	w.link("..data/a.yaml", "mount/a.yaml")
	w.link("..data/b.yaml", "mount/b.yaml")
	w.looks(2, "mount/a.yaml=1 mount/b.yaml=1")
	w.write("mount/..2026_2/a.yaml", "2")
	w.write("mount/..2026_2/b.yaml", "2")
	w.link("..2026_2", "mount/..data")
	w.remove("mount/..2026_1")
	w.looks(4, "mount/a.yaml=2 mount/b.yaml=2")
	w.write("mount/..2026_3/a.yaml", "2")
	w.write("mount/..2026_3/b.yaml", "2")
	w.link("..2026_3", "mount/..data")
	w.looks(4) // swapped, and the same
}

// TestSwappedRoot swaps the link that the path itself is.
func TestSwappedRoot(t *testing.T) {
	t.Parallel()
	w := newTree(t, "current/ratelimit/config")
	w.write("v1/ratelimit/config/a.yaml", "1")
	w.write("v2/ratelimit/config/a.yaml", "2")
	w.link("v1", "current")
	w.looks(2, "current/ratelimit/config/a.yaml=1")
	w.link("v2", "current")
	w.looks(4, "current/ratelimit/config/a.yaml=2")
}

func TestLinks(t *testing.T) {
	t.Parallel()
	w := newTree(t, ".", "real/a.yaml", "real")
	w.write("real/a.yaml", "1")
	w.link("real", "again")
	w.link("..", "real/up")
	w.link("loop.yaml", "loop.yaml")
	w.link("nowhere", "gone.yaml")
	w.looks(2, "again/a.yaml=1 gone.yaml!no such file or directory loop.yaml!too many levels of symbolic links")
}

// L6: a folder that is not there yet is waited for.
func TestL6FolderAppearsLater(t *testing.T) {
	t.Parallel()
	w := newTree(t, "rules")
	w.looks(3, "held rules: no such file or folder")
	w.must(os.Mkdir(filepath.Join(w.path, "rules"), 0o755))
	w.looks(3, "held rules: no rule files in this folder")
	w.write("rules/a.yaml", "1")
	w.looks(3, "rules/a.yaml=1")
}

func TestEmptiedFolder(t *testing.T) {
	t.Parallel()
	w := newTree(t, "rules", "more.yaml")
	w.write("rules/a.yaml", "1")
	w.write("more.yaml", "2")
	w.looks(2, "rules/a.yaml=1 more.yaml=2")
	w.remove("rules/a.yaml")
	w.looks(3, "more.yaml=2 rules/a.yaml=1 held rules: no rule files in this folder")
	w.remove("rules")
	w.looks(3, "more.yaml=2 rules/a.yaml=1 held rules: no such file or folder")
	w.write("more.yaml", "3")
	w.looks(3, "more.yaml=3 rules/a.yaml=1 held rules: no such file or folder")
	w.force("more.yaml=3 rules/a.yaml=1 held rules: no such file or folder forced") // nobody means that
	w.must(os.Mkdir(filepath.Join(w.path, "rules"), 0o755))
	w.force("more.yaml=3 forced")
	w.looks(3) // it is meant now, also when something else changes
	w.write("more.yaml", "55")
	w.looks(3, "more.yaml=55")
	w.write("rules/a.yaml", "4")
	w.looks(3, "rules/a.yaml=4 more.yaml=55")
	w.remove("rules")
	w.looks(3, "more.yaml=55 rules/a.yaml=4 held rules: no such file or folder")
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	w := newTree(t, "rules")
	w.write("rules/a.yaml", "1")
	w.write("rules/b.yaml", "2")
	w.looks(1, "rules/a.yaml=1 rules/b.yaml=2")
	w.remove("rules/a.yaml")
	w.must(os.Mkdir(filepath.Join(w.path, "rules/a.yaml"), 0o755)) // a folder of that name
	w.looks(3, "rules/b.yaml=2")
	w.remove("rules/b.yaml")
	w.link("b.yaml", "rules/b.yaml")
	w.looks(3, "rules/b.yaml!too many levels of symbolic links")
}

// TestUnreadableFolder keeps what a folder held that cannot be read any more.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	deep := "rules" + strings.Repeat("/d", maxDepth-2)
	w.write(deep+"/a.yaml", "1")
	w.looks(1, deep+"/a.yaml=1")
	seen := &sight{entries: []entry{{name: filepath.Join(w.path, "rules"), problem: "permission denied", folder: true}}, missing: []string{""}}
	files, held := w.source.hold(seen, readAll(seen))
	w.got = nil
	s := descriptors.Snapshot{Held: held}
	for _, file := range files {
		s.Files = append(s.Files, file.File)
	}
	w.emit(s)
	w.check([]string{deep + "/a.yaml=1 held rules: permission denied"})
	w.write(deep+"/d/d/b.yaml", "2")
	w.got = nil
	w.source.look(w.emit)
	w.source.look(w.emit)
	if len(w.got) != 1 || !strings.Contains(w.got[0], "levels deep") {
		t.Error(w.got)
	}
}
