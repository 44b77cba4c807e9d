package descriptors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"gopkg.in/yaml.v3"
)

// NodeKind says what a Node is.
type NodeKind uint8

const (
	NullNode NodeKind = iota
	TextNode
	ListNode
	MapNode
)

var nodeNames = [...]string{"nothing", "text", "a list", "a map"}

func (k NodeKind) String() string { return nodeNames[k] }

// Node is a value of a Tree. Aliases and merges (<<) have been followed: a node
// may be in several places, but never within itself.
type Node struct {
	Kind  NodeKind
	Text  string  // of TextNode, as it stands in the source
	Plain bool    // the text is not in quotes: it may be a number or a truth
	Items []*Node // of ListNode
	Pairs []Pair  // of MapNode, in the order of the file

	at   mark
	size int // of all that is below it, as often as it is there
}

// Pair is a field of a map.
type Pair struct{ Key, Value *Node }

// Get finds a field of a map by the first of its names that is there; nil if
// there is none, or n is nil or no map.
func (n *Node) Get(names ...string) *Node {
	if n == nil {
		return nil
	}
	for _, name := range names {
		for _, p := range n.Pairs {
			if p.Key.Text == name {
				return p.Value
			}
		}
	}
	return nil
}

// Tree is a YAML or JSON file that goes with rules without being one, such as
// their tests or the configuration of an Envoy: its values with their places,
// read with the same bounds as rules, and what is wrong with them.
type Tree struct {
	Documents []*Node

	src  *source
	log  *report
	made map[*yaml.Node]*Node
	open []*yaml.Node
	left int // nodes that may still be made
}

// ParseTree reads a file. Problems, also those of File.Err, are among
// Diagnostics; what could be read is there nevertheless.
func ParseTree(file File) *Tree {
	t := &Tree{
		src:  &source{name: file.Name, data: file.Data},
		log:  &report{},
		made: make(map[*yaml.Node]*Node),
		left: maxFileNodes,
	}
	d := &decoder{src: t.log.source(t.src), log: t.log}
	if file.Err != nil {
		t.log.error(mark{src: d.src}, "", "cannot read the file: "+file.Err.Error(), "")
		return t
	}
	if at, message, hint := unreadable(t.src); message != "" {
		at.src = d.src
		t.log.error(at, "", message, hint)
		return t
	}
	for reader := yaml.NewDecoder(bytes.NewReader(file.Data)); ; {
		node, err := next(reader)
		if errors.Is(err, io.EOF) {
			return t
		}
		if err != nil {
			d.syntax(t.src, err)
			return t
		}
		if isNull(target(node)) {
			continue
		}
		made := t.node(d, node)
		if made.size > maxFileNodes {
			t.Fail(made, "", "aliases make the file much larger than it is: more than %d values", maxFileNodes)
			return t
		}
		t.Documents = append(t.Documents, made)
	}
}

// node makes a Node of a yaml.Node, once.
func (t *Tree) node(d *decoder, at *yaml.Node) *Node {
	n := target(at)
	if made := t.made[n]; made != nil {
		return made
	}
	made := &Node{at: d.mark(n)}
	t.left--
	switch {
	case slices.Contains(t.open, n):
		t.Fail(made, "", "anchor %s contains itself", at.Value)
		return made
	case len(t.open) >= maxNesting || t.left < 0:
		t.Fail(made, "", "nested more than %d levels deep, or too large", maxNesting)
		return made
	}
	t.open = append(t.open, n)
	t.fill(d, made, n)
	t.open = t.open[:len(t.open)-1]
	t.made[n] = made
	made.size = 1
	for _, item := range made.Items {
		made.size = min(made.size+item.size, maxNodes)
	}
	for _, p := range made.Pairs {
		made.size = min(made.size+1+p.Value.size, maxNodes)
	}
	return made
}

func (t *Tree) fill(d *decoder, made *Node, n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		if !isNull(n) {
			made.Kind, made.Text, made.Plain = TextNode, n.Value, n.Style&quoteStyles == 0
		}
	case yaml.SequenceNode:
		made.Kind = ListNode
		for _, item := range n.Content {
			made.Items = append(made.Items, t.node(d, item))
		}
	case yaml.MappingNode:
		made.Kind = MapNode
		t.fillMap(d, made, n)
	}
}

// fillMap takes the pairs of a map, then those that << merges in.
func (t *Tree) fillMap(d *decoder, made *Node, n *yaml.Node) {
	first := make(map[string]*Node, len(n.Content)/2)
	var merges []*Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := t.node(d, n.Content[i]), t.node(d, n.Content[i+1])
		switch other := first[key.Text]; {
		case key.Kind != TextNode:
			t.Fail(key, "", "a field name is text, not %s", key.Kind)
		case target(n.Content[i]).Tag == "!!merge":
			merges = append(merges, value)
		case other != nil:
			t.Fail(key, "", "%s is written twice: first at line %d", quoted(key.Text), other.at.line)
		default:
			first[key.Text] = key
			made.Pairs = append(made.Pairs, Pair{key, value})
		}
	}
	for _, merge := range merges {
		for _, from := range append([]*Node{merge}, merge.Items...) {
			for _, p := range from.Pairs {
				if first[p.Key.Text] == nil && t.left > 0 {
					t.left--
					first[p.Key.Text] = p.Key
					made.Pairs = append(made.Pairs, p)
				}
			}
		}
	}
}

// Fail reports that something is wrong with a node of the tree, in the form of
// rule diagnostics. hint says what to write instead; it may be empty.
func (t *Tree) Fail(n *Node, hint, format string, args ...any) {
	t.log.error(n.at, "", fmt.Sprintf(format, args...), hint)
}

// Warn reports what is hardly meant.
func (t *Tree) Warn(n *Node, hint, format string, args ...any) {
	t.log.warn(n.at, "", fmt.Sprintf(format, args...), hint)
}

// Place is where a node stands.
func (t *Tree) Place(n *Node) Place { return t.log.place(n.at) }

// Diagnostics lists what was reported, sorted by place.
func (t *Tree) Diagnostics() []Diagnostic { return t.log.sorted() }

// DidYouMean is the hint for a misspelt name: the known one that it most likely
// stands for, or all of them.
func DidYouMean(name string, known []string) string {
	if hint := didYouMean(name, known); hint != "" || len(known) == 0 {
		return hint
	}
	return "known are " + oneOf(known)
}

// Compare orders places by file, line and column.
func (p Place) Compare(q Place) int { return p.compare(q) }
