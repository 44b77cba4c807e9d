package descriptors

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Bounds of what rule files may hold. They keep any file from using more than
// it is worth; no sensible one comes near. Through aliases a file may grow by a
// multiple of its size, and by some more for small ones.
const (
	maxFileBytes   = 16 << 20
	maxFileNodes   = 2_000_000 // of one file, before aliases are followed
	maxNodes       = 20_000_000
	aliasNodes     = 50_000
	aliasFactor    = 2
	maxRules       = 1_000_000
	maxLimits      = 32  // of one descriptor
	maxLevels      = 64  // of descriptors
	maxNesting     = 512 // of anything
	maxRegexBytes  = 4096
	maxTextBytes   = 64 << 10
	maxMetadata    = 1000 // nodes
	maxSelective   = 1000 // patterns and regexes of one key at one level
	maxAllPatterns = 100_000
	maxAllRegexes  = 10_000
)

// budget is what a set of files has used of the bounds.
type budget struct {
	nodes, rules, patterns, regexes int

	spent bool // nothing further is read
}

// decoder turns the nodes of one file into documents and reports what is wrong
// with them. It goes on after an error, to find them all.
type decoder struct {
	src    int32
	log    *report
	schema *schema
	used   *budget

	path      []string // to the node in hand
	open      []opened // maps and lists around it
	levels    int      // of descriptors around it
	aliases   int      // among open
	aliasLeft int      // nodes that may still come out of aliases
	spent     bool     // nothing further is read of this file
	document  *document
	half      *mark // descriptors with nothing under it
}

func (d *decoder) mark(n *yaml.Node) mark {
	m := mark{src: d.src, line: int32(n.Line), col: int32(n.Column)}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 && !strings.Contains(n.Value, "\n") {
		m.length = int32(utf8.RuneCountInString(n.Value))
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			m.length += 2
		}
	}
	return m
}

func (d *decoder) fail(n *yaml.Node, hint, format string, args ...any) {
	d.failAt(d.mark(n), hint, format, args...)
}

func (d *decoder) failAt(at mark, hint, format string, args ...any) {
	d.log.add(at, Diagnostic{Severity: Error, Message: fmt.Sprintf(format, args...), Hint: hint, Path: joinPath(d.path)})
}

func (d *decoder) warn(n *yaml.Node, hint, format string, args ...any) {
	d.log.add(d.mark(n), Diagnostic{Severity: Warning, Message: fmt.Sprintf(format, args...), Hint: hint, Path: joinPath(d.path)})
}

func joinPath(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}

// field is the name of what is in hand: a field, or an item of a list.
func (d *decoder) field() string {
	last := len(d.path) - 1
	switch {
	case last < 0:
		return "a " + levelDocument
	case last > 0 && d.path[last][0] == '[':
		return "an item of " + d.path[last-1]
	}
	return d.path[last]
}

// opened is a node that the decoder is in.
type opened struct {
	node  *yaml.Node
	alias bool // it was reached through one
}

// enter follows an alias and steps into a node; leave steps out again. It is
// false where the node cannot be read.
func (d *decoder) enter(at *yaml.Node) (*yaml.Node, bool) {
	n, alias := target(at), at.Kind == yaml.AliasNode
	switch {
	case alias && slices.ContainsFunc(d.open, func(o opened) bool { return o.node == n }):
		d.fail(at, "", "anchor %s contains itself", at.Value)
		return nil, false
	case len(d.open) >= maxNesting:
		d.fail(at, "", "nested more than %d levels deep", maxNesting)
		return nil, false
	case !d.spend(at):
		return nil, false
	case n.Kind != yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!map" && n.Tag != "!!seq":
		d.fail(at, "leave the tag out", "the tag %s has no meaning here", n.Tag)
		return nil, false
	}
	d.open = append(d.open, opened{n, alias})
	if alias {
		d.aliases++
	}
	return n, true
}

func (d *decoder) leave() {
	last := len(d.open) - 1
	if d.open[last].alias {
		d.aliases--
	}
	d.open = d.open[:last]
}

// spend counts a node against the bounds.
func (d *decoder) spend(n *yaml.Node) bool {
	if d.stopped() {
		return false
	}
	if d.aliases > 0 {
		if d.aliasLeft--; d.aliasLeft < 0 {
			d.spent = true
			d.fail(n, "", "aliases make the file much larger than it is")
			return false
		}
	}
	if d.used.nodes++; d.used.nodes > maxNodes {
		d.used.spent = true
		d.fail(n, "", "the rules of all files are larger than %d values", maxNodes)
		return false
	}
	return true
}

func (d *decoder) stopped() bool { return d.spent || d.used.spent }

// at runs a step with one more element of the path.
func (d *decoder) at(element string, step func()) {
	d.path = append(d.path, element)
	step()
	d.path = d.path[:len(d.path)-1]
}

// list visits the items of a list and counts them; -1 if there is no list.
func (d *decoder) list(at *yaml.Node, visit func(item *yaml.Node)) (items int) {
	n, ok := d.enter(at)
	if !ok {
		return -1
	}
	defer d.leave()
	if n.Kind != yaml.SequenceNode {
		d.fail(at, "", "%s must be a list, not %s", d.field(), describe(n))
		return -1
	}
	for i, item := range n.Content {
		if d.stopped() {
			break
		}
		d.at("["+strconv.Itoa(i)+"]", func() { visit(item) })
	}
	return len(n.Content)
}

// describe says what a node is.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	return "text"
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
}

// target is the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
