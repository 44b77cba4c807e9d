package descriptors

import (
	"slices"
	"strings"
)

// maxNameHints bounds the searches for a name that was meant: each looks at all
// names of the domain.
const maxNameHints = 20

// checkNames looks at what limits call themselves and each other.
func (b *builder) checkNames(u *unit) {
	first := make(map[string]Place)
	slices.SortStableFunc(b.names, func(x, y limitName) int { return b.log.place(x.at).compare(b.log.place(y.at)) })
	for _, n := range b.names {
		if other, taken := first[n.name]; taken {
			b.warn(n.at, "", "the name %s is taken by the limit at %s: they are one in metrics and in replaces", quoted(n.name), other)
			continue
		}
		first[n.name] = b.log.place(n.at)
	}
	next := make(map[string][]replaceTarget)
	names, hints := sortedKeys(first), 0
	for _, t := range b.targets {
		if _, known := first[t.to]; !known {
			if !u.rejected {
				hint := ""
				if hints++; hints <= maxNameHints {
					hint = didYouMean(t.to, names)
				}
				b.warn(t.at, hint, "no limit of domain %s has the name %s", quoted(u.name), quoted(t.to))
			}
			continue
		}
		if t.from != "" {
			next[t.from] = append(next[t.from], t)
		}
	}
	b.checkCycles(next)
}

// checkCycles finds limits that replace each other in a ring: all of them would
// be dropped. Names are visited depth first; one met again while it is still
// open closes a ring.
func (b *builder) checkCycles(next map[string][]replaceTarget) {
	const (
		open = iota + 1
		done
	)
	state := make(map[string]int, len(next))
	for _, start := range sortedKeys(next) {
		if state[start] != 0 {
			continue
		}
		path := []string{start}
		at := []int{0} // how many targets of each name on the path have been followed
		state[start] = open
		for len(path) > 0 {
			last := len(path) - 1
			name := path[last]
			if at[last] == len(next[name]) {
				state[name] = done
				path, at = path[:last], at[:last]
				continue
			}
			t := next[name][at[last]]
			at[last]++
			switch state[t.to] {
			case 0:
				state[t.to] = open
				path, at = append(path, t.to), append(at, 0)
			case open:
				b.fail(t.at, "leave one of them out", "replaces cycle %s", ring(path, t.to))
			}
		}
	}
}

// ring shows the part of a path from a name to itself.
func ring(path []string, name string) string {
	from := len(path) - 1
	for path[from] != name {
		from--
	}
	return strings.Join(append(append([]string{}, path[from:]...), name), " -> ")
}
