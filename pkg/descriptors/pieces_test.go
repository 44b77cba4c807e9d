package descriptors

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// wholeDocument is the only document of a text, as the parser reads it; nil if
// there is another number of them.
func wholeDocument(data []byte) *yaml.Node {
	reader := yaml.NewDecoder(bytes.NewReader(data))
	n, err := next(reader)
	if err != nil {
		return nil
	}
	if _, err := next(reader); !errors.Is(err, io.EOF) {
		return nil
	}
	return n
}

// shape is what the compiler reads of a node.
type shapeOf struct {
	Kind         yaml.Kind
	Style        yaml.Style
	Tag, Value   string
	Line, Column int
	Alias        int // line of the anchor
	Content      []shapeOf
}

func shapeOfNode(n *yaml.Node) shapeOf {
	s := shapeOf{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column}
	if n.Alias != nil {
		s.Alias = n.Alias.Line
	}
	for _, child := range n.Content {
		s.Content = append(s.Content, shapeOfNode(child))
	}
	return s
}

// samePieces parses a text in n pieces, which must be the whole or nothing. It
// tells whether it was.
func samePieces(t *testing.T, data []byte, n int) bool {
	t.Helper()
	joined := parsePieces(cutList(data, n))
	if joined == nil {
		return false
	}
	whole := wholeDocument(data)
	if whole == nil {
		t.Fatalf("in %d pieces it is a document, as a whole it is not:\n%s", n, data)
	}
	if diff := cmp.Diff(shapeOfNode(whole), shapeOfNode(joined)); diff != "" {
		t.Fatalf("in %d pieces (-whole +pieces):\n%s\n%s", n, diff, data)
	}
	return true
}

func TestPieces(t *testing.T) {
	t.Parallel()
	const head = "domain: d\nx-a: &a {unit: day}\ndescriptors: \n"
	for _, c := range []struct {
		name, text string
		joined     bool
	}{
		{"plain", head + "- key: a\n- key: b\n- key: c\n  descriptors:\n  - key: d\n", true},
		{"indented", head + "  - key: a\n\n  # b\n  - key: b\n  - {key: c}\n", true},
		{"empty items", head + "-\n- \n- key: a\n- b\n", true},
		{"block text", head + "- key: |\n   - a\n   - b\n- key: b\n- key: c\n", true},
		{"anchors within", head + "- &r {key: a}\n- *r\n", false},
		{"anchor in the head", head + "- key: a\n- key: b\n  rate_limit: *a\n", false},
		{"quotes over lines", head + "- key: \"a\n- key: b\n- c\"\n- key: d\n", false},
		{"brackets over lines", head + "- key: [a,\n- key: b\n- c]\n- key: d\n", false},
		{"more after the list", head + "- key: a\n- key: b\n- key: c\nx-b: c\n", false},
		{"more documents", head + "- key: a\n- key: b\n- key: c\n---\ndomain: e\n", false},
		{"CRLF", strings.ReplaceAll(head+"- key: a\n- key: b\n", "\n", "\r\n"), false},
		{"other name", "domain: d\ntext: |\n descriptors:\n - key: a\n - key: b\n", false},
		{"in quotes", "domain: \"d\ndescriptors:\n- key: a\n- key: b\"\n", false},
		{"twice", head + "- key: a\ndescriptors:\n- key: b\n- key: c\n", false},
		{"not YAML", head + "- key: a\n- key: b: c\n- key: d\n", false},
		{"a map", head + "  key: a\n", false},
	} {
		for n := 2; n < 6; n++ {
			if got := samePieces(t, []byte(c.text), n); got != c.joined {
				t.Errorf("%s in %d pieces: joined %t", c.name, n, got)
			}
		}
	}
	if data := manyRules(20_000)[0].Data; readDocuments(data).joined == nil && !samePieces(t, data, 2) {
		t.Error("a long list is not parsed in pieces")
	}
}

// FuzzPieces: however a text is cut, the pieces are the whole, or nothing.
func FuzzPieces(f *testing.F) {
	for _, folder := range []string{"ok", "bad"} {
		for _, file := range ruleFiles(f, folder) {
			f.Add(file.Data, 3)
		}
	}
	for _, text := range []string{
		"descriptors:\n- a: |\n- b\n- c: >+\n\n   x\n\n- d\n", "descriptors:\n- - a\n  - b\n- ? c\n- 'x\n- y'\n- z\n",
		"? descriptors:\n- a\n- b\n", "a: &x b\ndescriptors:\n- &x c\n- *x\n- d\n", "descriptors:\n - a\n - b\n#\n - c\n", "--- \ndescriptors:\n- a\n- b\n",
		"%TAG ! tag:x,1:\n---\ndescriptors:\n- !a b\n- !c d\n", "\ufeffdescriptors:\n- a\n- b\n", "descriptors:\n- a\n-\tb\n- c\n", "descriptors:\n- |1\n  a\n- |2\n   - b\n- c\n",
	} {
		f.Add([]byte(text), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if at, _, _ := unreadable(&source{data: data}); at.line > 0 && len(data) < 1<<16 {
			samePieces(t, data, n%64)
		}
	})
}
