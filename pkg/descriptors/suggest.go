package descriptors

import (
	"slices"
	"strings"
)

// nearest finds the name that a misspelt one most likely stands for: at most
// two edits away, fewer for short names. "" if there is none.
func nearest(name string, names []string) string {
	best, bestEdits := "", 3
	if len(name) > 64 {
		return ""
	}
	folded := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for _, candidate := range names {
		if edits := distance(folded, candidate); edits < bestEdits && edits*2 < len(candidate) {
			best, bestEdits = candidate, edits
		}
	}
	return best
}

// distance is the number of signs to insert, drop, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(row[j-1], last[j]) + 1
			if a[i-1] == b[j-1] {
				row[j] = min(row[j], last[j-1])
			} else {
				row[j] = min(row[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func didYouMean(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return "did you mean \"" + best + "\"?"
	}
	return ""
}

// oneOf lists alternatives: a, b or c.
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
