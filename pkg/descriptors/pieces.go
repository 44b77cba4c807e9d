package descriptors

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"

	"gopkg.in/yaml.v3"
)

// A file with very many rules takes its time in the YAML parser, which is one
// loop. Most such files are one document that ends in one long list, and its
// items can be parsed side by side.
//
// A line that begins with the indentation of the list's first item and a dash
// begins an item, unless it is within quotes or brackets that span lines:
// everything else within an item is indented further. Were it within those, what
// goes before it would not be closed and so be no YAML by itself. So the list is
// cut before such lines, and if each piece is YAML by itself, and of the kind
// that is expected, the pieces are the whole; if not, the whole is parsed as
// ever, which also says what is wrong and where. Aliases across pieces are not
// found, and end the same way.

// minPieceBytes is the least that is worth a goroutine.
const minPieceBytes = 128 << 10

// documents reads the documents of a file, one by one.
type documents struct {
	reader *yaml.Decoder
	joined *yaml.Node // the only document, if it was parsed in pieces
}

func readDocuments(data []byte) *documents {
	n := min(runtime.GOMAXPROCS(0), len(data)/minPieceBytes)
	if joined := parsePieces(cutList(data, n)); joined != nil {
		return &documents{reader: yaml.NewDecoder(bytes.NewReader(nil)), joined: joined}
	}
	return &documents{reader: yaml.NewDecoder(bytes.NewReader(data))}
}

// next is io.EOF after the last document.
func (d *documents) next() (*yaml.Node, error) {
	if n := d.joined; n != nil {
		d.joined = nil
		return n, nil
	}
	return next(d.reader)
}

// piece is a part of a file.
type piece struct {
	data   []byte
	line   int // lines before it
	indent int // of the items of the list

	node *yaml.Node // nil if it is not what is expected
}

// cutList cuts a file into n pieces: the first from its beginning, the others
// from an item of the list that ends it. nil if there is no such list.
func cutList(data []byte, n int) []piece {
	const name = "descriptors:"
	if n < 2 || bytes.IndexByte(data, '\r') >= 0 || bytes.Contains(data, []byte("\u0085")) || bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("\u2029")) {
		return nil // lines are only counted by their \n here
	}
	pieces := []piece{{}}
	line, offset, begun, listed := 0, 0, 0, false
	indent := -1
	for text := range bytes.Lines(data) {
		content := bytes.TrimLeft(text, " ")
		column := len(text) - len(content)
		switch {
		case len(content) == 0 || content[0] == '\n' || content[0] == '#':
		case !listed && text[0] == '%':
			return nil // a directive is for the whole document
		case !listed:
			listed = bytes.HasPrefix(text, []byte(name)) && len(bytes.TrimSpace(text)) == len(name)
		case column < max(indent, 0), column <= indent && !isItem(content), content[0] == '\t':
			return nil // the list ends before the file does
		case indent < 0:
			if !isItem(content) {
				return nil
			}
			indent = column
		case column == indent && content[0] == '-' && len(content) > 2 && offset-begun >= len(data)/n:
			pieces[len(pieces)-1].data = data[begun:offset]
			pieces = append(pieces, piece{line: line})
			begun = offset
		}
		line, offset = line+1, offset+len(text)
	}
	pieces[len(pieces)-1].data = data[begun:]
	for i := range pieces {
		pieces[i].indent = indent
	}
	return pieces
}

// isItem tells whether a line without its indentation begins an item.
func isItem(content []byte) bool {
	return content[0] == '-' && (len(content) == 1 || content[1] == ' ' || content[1] == '\n')
}

// parsePieces parses pieces side by side and joins them to one document; nil if
// they are no pieces after all.
func parsePieces(pieces []piece) *yaml.Node {
	if len(pieces) < 2 {
		return nil
	}
	var wait sync.WaitGroup
	for i := range pieces {
		wait.Go(pieces[i].parse)
	}
	wait.Wait()
	for i := range pieces {
		if pieces[i].node == nil {
			return nil
		}
	}
	list := pieces[0].list()
	if list == nil {
		return nil
	}
	for i := range pieces[1:] {
		p := &pieces[i+1]
		if p.node.Kind != yaml.SequenceNode || !p.isList(p.node) {
			return nil
		}
		list.Content = append(list.Content, p.node.Content...)
	}
	return pieces[0].node
}

// parse parses a piece that is one document.
func (p *piece) parse() {
	reader := yaml.NewDecoder(bytes.NewReader(p.data))
	node, err := next(reader)
	if err != nil {
		return
	}
	if _, err := next(reader); !errors.Is(err, io.EOF) {
		return
	}
	if p.line > 0 {
		shift(node, p.line)
	}
	p.node = node
}

// list is the list that the first piece ends in.
func (p *piece) list() *yaml.Node {
	n := p.node
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return nil
	}
	if last := n.Content[len(n.Content)-1]; last.Kind == yaml.SequenceNode && p.isList(last) {
		return last
	}
	return nil
}

// isList tells whether a list is the one that was cut.
func (p *piece) isList(n *yaml.Node) bool {
	return n.Style&yaml.FlowStyle == 0 && n.Column == p.indent+1
}

// shift moves nodes to where they are in the file.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}
