package descriptors

import (
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	t.Parallel()
	const text = `# a comment
base: &base {a: 1, b: [x, 'y''z', "q\"r"]}
use:
  <<: *base
  b: ü
  again: *base
`
	tree := ParseTree(File{Name: "t.yaml", Data: []byte(text)})
	if found := tree.Diagnostics(); len(found) > 0 {
		t.Fatal(found)
	}
	use := tree.Documents[0].Get("use")
	if a, b := use.Get("none", "a"), use.Get("b"); a == nil || a.Text != "1" || b == nil || b.Text != "ü" {
		t.Errorf("merged: a %v, b %v", a, b)
	}
	if use.Get("again") != tree.Documents[0].Get("base") {
		t.Error("an alias is not its anchor")
	}
	for i, want := range []string{"x", "'y''z'", `"q\"r"`} {
		item := use.Get("again").Get("b").Items[i]
		from, to, ok := tree.Source(item)
		if !ok || text[from:to] != want {
			t.Errorf("source of item %d: %q (%v), want %q", i, text[from:to], ok, want)
		}
	}
	if got := tree.Place(use.Get("b")).String(); got != "t.yaml:5:6" {
		t.Errorf("place %s", got)
	}
}

// What no tree can be made of is said, with its place.
func TestTreeProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: [\n":              "not YAML",
		"a: 1\na: 2\n":              "t.yaml:2:1: error: \"a\" is written twice: first at line 1",
		"a: &a [*a]\n":              "anchor a contains itself",
		"{[1]: 2}":                  "a field name is text, not a list",
		"a: \x00":                   "control character 0x00",
		strings.Repeat("[", 20_000): "",
		strings.Repeat("[", 600) + strings.Repeat("]", 600): "nested more than 512 levels deep",
	} {
		tree := ParseTree(File{Name: "t.yaml", Data: []byte(text)})
		found := tree.Diagnostics()
		if len(found) == 0 || !strings.Contains(found[0].String(), want) {
			t.Errorf("%.40q: %v, want %q", text, found, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	set, _ := Compile([]File{{Name: "r.yaml", Data: []byte(`
domain: d
descriptors:
  - key: b
  - key: a
    value: x*
    descriptors: [{key: c}, {key: d}]
`)}}, nil, Options{})
	for want, entries := range map[string][]Entry{
		"a b": {{Key: "none", Value: "x"}},
		"c d": {{Key: "a", Value: "xyz"}},
		"":    {{Key: "b", Value: "x"}, {Key: "c", Value: "x"}},
	} {
		if got := strings.Join(set.Domain("d").Keys(entries), " "); got != want {
			t.Errorf("keys of %v: %q, want %q", entries, got, want)
		}
	}
}
