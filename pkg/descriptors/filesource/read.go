package filesource

import (
	"errors"
	"io"
	"os"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// maxBytes is where reading a file ends: the compiler refuses files of that
// size.
const maxBytes = 16<<20 + 1

// ReadPaths reads the rule files below paths as the server does. Files that
// cannot be read come with their error, which the compiler reports; a
// diagnostic says where a path has no rule file at all.
func ReadPaths(paths []string) ([]descriptors.File, []descriptors.Diagnostic) {
	seen := look(paths)
	var diagnostics []descriptors.Diagnostic
	for i, path := range paths {
		if seen.missing[i] != "" {
			diagnostics = append(diagnostics, descriptors.Diagnostic{
				Place:    descriptors.Place{File: path},
				Severity: descriptors.Error,
				Message:  seen.missing[i],
				Hint:     "rule files end in .yaml, .yml or .json",
			})
		}
	}
	var files []descriptors.File
	for i := range seen.entries {
		files = append(files, read(&seen.entries[i]))
	}
	return files, diagnostics
}

// emptyFolder is why a path that is there has no rule files.
const emptyFolder = "no rule files in this folder"

// missing says why a path has no rule files.
func missing(path string) string {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "no such file or folder"
	}
	return emptyFolder
}

func read(e *entry) descriptors.File {
	file := descriptors.File{Name: e.name}
	if e.problem != "" {
		file.Err = errors.New(e.problem)
		return file
	}
	f, err := os.Open(e.resolved)
	if err == nil {
		defer f.Close()
		file.Data, err = io.ReadAll(io.LimitReader(f, maxBytes))
	}
	if err != nil {
		var of *os.PathError
		if errors.As(err, &of) {
			err = of.Err
		}
		file.Data, file.Err = nil, err
	}
	return file
}
