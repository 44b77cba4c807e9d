package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

// testFiles lists the test files that paths name: files as they are, and what is
// in folders by its name.
func testFiles(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{"."}
		if info, err := os.Stat(defaultRules); err == nil && info.IsDir() {
			paths = []string{filepath.Clean(defaultRules)}
		}
	}
	var all []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, &settings.UsageError{Text: fmt.Sprintf("%s: %v", path, bare(err))}
		}
		found := []string{path}
		if info.IsDir() {
			if found, err = testFilesBelow(path); err != nil {
				return nil, err
			}
		}
		if len(found) == 0 {
			return nil, &settings.UsageError{Text: path + ": no test files in this folder", Hint: "their names end in _test.yaml, _test.yml or _test.json"}
		}
		for _, file := range found {
			if !slices.Contains(all, file) {
				all = append(all, file)
			}
		}
	}
	return all, nil
}

func testFilesBelow(dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && isTestFile(path):
			all = append(all, path)
		}
		return nil
	})
	return all, err
}

func isTestFile(path string) bool {
	ext := filepath.Ext(path)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && strings.HasSuffix(strings.TrimSuffix(path, ext), "_test")
}

// bare is an error without the path, which is shown anyway.
func bare(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}
