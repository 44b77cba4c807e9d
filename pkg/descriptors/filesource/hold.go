package filesource

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// hold puts the files from before in the place of folders that were emptied or
// cannot be read any more.
func (s *Source) hold(seen *sight, files []kept) ([]kept, []descriptors.Hold) {
	var held []descriptors.Hold
	for root, path := range s.paths {
		reason := seen.missing[root]
		if s.meant[root] = s.meant[root] && reason != ""; reason != "" && !s.meant[root] {
			held = append(held, descriptors.Hold{Path: path, Reason: reason})
			files = append(files, s.earlier(func(k *kept) bool { return k.root == root })...)
		}
	}
	for i := range seen.entries {
		e := &seen.entries[i]
		if !e.folder {
			continue
		}
		below := e.name + string(filepath.Separator)
		restored := s.earlier(func(k *kept) bool { return strings.HasPrefix(k.Name, below) })
		if len(restored) == 0 {
			continue
		}
		held = append(held, descriptors.Hold{Path: e.name, Reason: e.problem})
		files = slices.DeleteFunc(files, func(k kept) bool { return k.Name == e.name })
		files = append(files, restored...)
	}
	return files, held
}

// earlier lists the files last emitted that a test picks.
func (s *Source) earlier(pick func(*kept) bool) []kept {
	var files []kept
	for i := range s.kept {
		if pick(&s.kept[i]) {
			files = append(files, s.kept[i])
		}
	}
	return files
}
