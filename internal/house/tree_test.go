package house

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files lists the files of the tree with one of the endings, relative to the
// root and with slashes. Folders that begin with a dot are left out, and
// testdata, unless the ending asks for more than Go.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var list []string
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != dir && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) }) {
			rel, err := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatalf("no files %v in %s", endings, dir)
	}
	return list
}

// maxLines is where a file is to be split.
const maxLines = 400

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, ".go", ".lua") {
		if n := strings.Count(read(t, filepath.Join(root(t), file)), "\n"); n > maxLines {
			t.Errorf("%s has %d lines: split it (at most %d)", file, n, maxLines)
		}
	}
}

func TestFormatted(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, ".go") {
		source := []byte(read(t, filepath.Join(root(t), file)))
		formatted, err := format.Source(source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if !bytes.Equal(source, formatted) {
			t.Errorf("%s is not as gofmt writes it", file)
		}
	}
}

// TestNothingIsSkipped: a missing part fails a test, so that green means tested.
func TestNothingIsSkipped(t *testing.T) {
	t.Parallel()
	for _, file := range files(t, "_test.go") {
		text := read(t, filepath.Join(root(t), file))
		for _, call := range []string{".Skip" + "(", ".Skipf" + "(", ".SkipNow" + "(", "testing.Short" + "("} {
			if strings.Contains(text, call) {
				t.Errorf("%s calls %s): fail instead, and say what to install", file, call)
			}
		}
	}
}
