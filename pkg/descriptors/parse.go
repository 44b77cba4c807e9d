package descriptors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// parsed is what could be read of one file.
type parsed struct {
	documents []*document
	failed    bool   // a part of the file could not be read
	half      string // why it looks half-written; a file in error does not
}

// parse reads one file: its documents, with a place for everything.
func parse(file *File, schema *schema, used *budget, log *report) parsed {
	src := &source{name: file.Name, data: file.Data}
	d := &decoder{src: log.source(src), log: log, schema: schema, used: used}
	before := log.errors
	if file.Err != nil {
		log.error(mark{src: d.src}, "", "cannot read the file: "+file.Err.Error(), "")
		return parsed{failed: true}
	}
	if at, message, hint := unreadable(src); message != "" {
		at.src = d.src
		log.error(at, "", message, hint)
		return parsed{failed: true}
	}
	d.aliasLeft = aliasNodes + aliasFactor*separators(file.Data)
	var out parsed
	reader := readDocuments(file.Data)
	for !d.stopped() {
		node, err := reader.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.syntax(src, err)
			out.failed = true
			break
		}
		if isNull(target(node)) {
			continue
		}
		doc := d.decode(node)
		if file.DefaultsOnly && doc.listed {
			d.warn(node, "leave domain and defaults only", "rules come over xDS: descriptors of a file are passed over")
			doc.descriptors, doc.listed = nil, false
		}
		out.documents = append(out.documents, doc)
	}
	if d.stopped() {
		_, err := reader.next()
		out.failed = !errors.Is(err, io.EOF)
	}
	if log.errors == before {
		out.half = d.halfWritten(&out)
	}
	if len(out.documents) == 0 && !out.failed {
		log.warn(mark{src: d.src, line: 1, col: 1}, "", "the file has no rules", "")
	}
	return out
}

// next reads a document. yaml.v3 panics where it finds itself in error; that
// ends here.
func next(reader *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("yaml: %v", problem)
		}
	}()
	var document yaml.Node
	if err := reader.Decode(&document); err != nil {
		return nil, err
	}
	if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		return document.Content[0], nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
}

// decode decodes one document.
func (d *decoder) decode(n *yaml.Node) *document {
	from, before := len(d.log.list), d.log.errors
	doc := &document{at: d.mark(n)}
	d.document = doc
	if !d.foreign(n) {
		decodeMap(d, n, d.schema.document, doc)
	}
	if doc.domain.set && doc.defaults == nil && !doc.listed && d.log.errors == before {
		d.warn(n, "write descriptors: [] if no rules is what you mean", "domain %s has neither descriptors nor defaults", quoted(doc.domain.value))
	}
	doc.errors = d.log.errors > before
	d.log.of(doc.domain.value, from)
	return doc
}

// halfWritten says why a file is taken for one in the middle of being written.
func (d *decoder) halfWritten(p *parsed) string {
	if d.half != nil {
		return fmt.Sprintf("descriptors has nothing under it at line %d", d.half.line)
	}
	for _, doc := range p.documents {
		if doc.listed || doc.defaults != nil {
			return ""
		}
	}
	return "it has no rules"
}

// unreadable finds what no YAML may hold, to say where it is and to keep it from
// the parser.
func unreadable(src *source) (at mark, message, hint string) {
	at = mark{line: 1, col: 1}
	data := src.data
	switch {
	case len(data) > maxFileBytes:
		return at, fmt.Sprintf("the file has %d bytes: at most %d", len(data), maxFileBytes), "split it; a domain may be spread over files"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return at, "the file is UTF-16", "save it as UTF-8"
	case separators(data) > maxFileNodes:
		return at, fmt.Sprintf("the file has more than %d values", maxFileNodes), "split it; a domain may be spread over files"
	}
	for i := 0; i < len(data); {
		c := data[i]
		if c >= ' ' && c < 0x7f || c == '\n' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			message = fmt.Sprintf("byte 0x%02x is not UTF-8", c)
		case c < ' ' && c != '\t' && c != '\r', c == 0x7f:
			message = fmt.Sprintf("control character 0x%02x", c)
			hint = fmt.Sprintf(`in a text, write "\x%02x"`, c)
		default:
			i += size
			continue
		}
		at.line, at.col = src.find(i)
		return at, message, hint
	}
	return at, "", ""
}

// separators is at least the number of values in a YAML text.
func separators(data []byte) int {
	n := 0
	for _, sign := range []string{"\n", "\r", ",", ":", "[", "{", "- ", "-\t", "? "} {
		n += bytes.Count(data, []byte(sign))
	}
	return n
}
