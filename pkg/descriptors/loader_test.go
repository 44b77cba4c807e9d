package descriptors

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script is a source that emits what a test wrote down.
type script []Snapshot

func (s script) Run(_ context.Context, emit func(Snapshot)) error {
	for _, snapshot := range s {
		emit(snapshot)
	}
	return errors.New("the end")
}

// loads runs a script and describes each load.
func loads(t *testing.T, opt Options, snapshots ...Snapshot) []string {
	t.Helper()
	var all []string
	err := NewLoader(script(snapshots), opt).Run(t.Context(), func(l Load) {
		domains := "none"
		if l.Ruleset != nil {
			domains = ""
			for _, d := range l.Ruleset.Domains() {
				domains += fmt.Sprintf(" %s:%d", d.Name, countRules(d))
				if d.Rejected {
					domains += "!"
				}
			}
		}
		text := fmt.Sprintf("%d%s", l.Generation, domains)
		if l.Refused {
			text += " refused"
		}
		for _, h := range l.Held {
			text += " held " + h.Path
		}
		if !l.Sound() {
			text += " unsound"
		}
		all = append(all, text)
	})
	if err == nil || err.Error() != "the end" {
		t.Errorf("Run: %v", err)
	}
	return all
}

func countRules(d *Domain) int {
	n := 0
	for range d.Rules() {
		n++
	}
	return n
}

func snapshot(texts ...string) Snapshot { return Snapshot{Files: yamlFiles(texts...)} }

func forced(texts ...string) Snapshot { return Snapshot{Files: yamlFiles(texts...), Forced: true} }

func TestLoader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		opt       Options
		snapshots []Snapshot
		want      []string
	}{
		{"unchanged", Options{}, []Snapshot{snapshot(goodOne), snapshot(goodOne), forced(goodOne)}, []string{"1 one:1"}},
		{"changed", Options{}, []Snapshot{snapshot(goodOne), snapshot(goodOne, goodTwo), snapshot(goodOne)}, []string{"1 one:1", "2 one:1 two:1", "3 one:1"}},
		{"in error", Options{}, []Snapshot{snapshot(goodOne, goodTwo), snapshot(badOne, goodTwo), snapshot(goodOne, goodTwo)},
			[]string{"1 one:1 two:1", "2 one:1! two:1 unsound", "3 one:1 two:1"}},
		{"in error at first", Options{}, []Snapshot{snapshot(badOne, goodTwo)}, []string{"1 one:0! two:1 unsound"}},
		{"no YAML", Options{}, []Snapshot{snapshot(goodOne), snapshot(noYAML), snapshot(""), snapshot("domain: one\ndescriptor: []\n"), snapshot(goodOne)},
			[]string{"1 one:1", "2 one:1! unsound", "2 one:1! held a.yaml unsound", "3 one:1! unsound", "4 one:1"}},
		{"strict", Options{Strict: true}, []Snapshot{snapshot(badOne), snapshot(goodOne), snapshot(badOne, goodTwo), snapshot(goodOne, goodTwo)},
			[]string{"0none refused unsound", "1 one:1", "1 one:1 refused unsound", "2 one:1 two:1"}},
		{"half-written", Options{}, []Snapshot{snapshot(goodOne, goodTwo), snapshot("domain: one\ndescriptors:\n", goodTwo), snapshot("domain: one\n", goodTwo), snapshot("", goodTwo), snapshot(goodOne, goodTwo)},
			[]string{"1 one:1 two:1", "1 one:1 two:1 held a.yaml unsound", "1 one:1 two:1 held a.yaml unsound", "1 one:1 two:1"}},
		{"half-written, other file changed", Options{}, []Snapshot{snapshot(goodOne, goodTwo), snapshot("", "domain: two\ndescriptors: [{key: a}, {key: b}]\n"), snapshot("", goodOne)},
			[]string{"1 one:1 two:1", "2 one:1 two:2 held a.yaml unsound", "3 one:1! held a.yaml unsound"}},
		{"half-written below", Options{}, []Snapshot{snapshot(goodOne), snapshot("domain: one\ndescriptors:\n- key: a\n  descriptors:\n")},
			[]string{"1 one:1", "1 one:1 held a.yaml unsound"}},
		{"meant", Options{}, []Snapshot{snapshot(goodOne), snapshot("domain: one\ndescriptors: []\n")}, []string{"1 one:1", "2 one:0"}},
		{"forced", Options{}, []Snapshot{snapshot(goodOne), snapshot("domain: one\ndescriptors:\n"), forced("domain: one\ndescriptors:\n"), snapshot("domain: one\ndescriptors:\n")},
			[]string{"1 one:1", "1 one:1 held a.yaml unsound", "2 one:0"}},
		{"nothing at first", Options{}, []Snapshot{{Held: []Hold{{"rules", "no such file or folder"}}}, snapshot(goodOne)}, []string{"0none held rules unsound", "1 one:1"}},
		{"emptied, forced", Options{}, []Snapshot{snapshot(goodOne), forced()}, []string{"1 one:1", "2"}},
		{"half-written at first", Options{}, []Snapshot{snapshot("domain: one\ndescriptors:\n"), snapshot(goodOne)}, []string{"1 one:0", "2 one:1"}},
		{"file removed", Options{}, []Snapshot{snapshot(goodOne, goodTwo), snapshot(goodOne)}, []string{"1 one:1 two:1", "2 one:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := loads(t, c.opt, c.snapshots...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
