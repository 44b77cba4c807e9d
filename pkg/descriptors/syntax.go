package descriptors

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// parserProblems begin the messages of yaml.v3 whose line is one too small: it
// counts them from 0.
var parserProblems = []string{
	"did not find expected node content",
	"did not find expected key",
	"did not find expected '-' indicator",
	"did not find expected ',' or",
	"did not find expected <",
	"found duplicate %",
	"found incompatible YAML document",
	"found undefined tag handle",
}

// syntax reports what yaml.v3 says about a text that is no YAML. It tells the
// line at best, and that of the beginning of what it could not finish.
func (d *decoder) syntax(src *source, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	at := mark{src: d.src, line: 1, col: 1}
	if rest, found := strings.CutPrefix(message, "line "); found {
		number, after, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil && line > 0 {
			at.line, message = int32(line), after
		}
	}
	if slices.ContainsFunc(parserProblems, func(begin string) bool { return strings.HasPrefix(message, begin) }) {
		at.line++
	}
	if name, found := strings.CutPrefix(message, "unknown anchor '"); found {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.Index(src.data, []byte("*"+name)); i >= 0 {
			at.line, at.col = src.find(i)
			at.length = int32(len(name)) + 1
		}
		d.log.error(at, "", "no anchor has the name "+quoted(name), "")
		return
	}
	if line, col := templateLine(src.data); line > 0 {
		d.log.error(mark{src: d.src, line: line, col: col}, "", "this is a template that nobody has rendered: {{ … }} is no YAML", renderHint)
		return
	}
	hint := syntaxHint(message, string(bytes.TrimSpace(src.text(int(at.line)))))
	if line := tabbed(src, int(at.line)); line > 0 {
		at.line, hint = int32(line), "indent with spaces: YAML takes no tabs"
	}
	line := src.text(int(at.line))
	at.col = int32(len(line)-len(bytes.TrimLeft(line, " \t"))) + 1
	d.log.error(at, "", "not YAML: "+message, hint)
}

// tabbed finds a line that is indented with a tab, at line n or a few after it.
func tabbed(src *source, n int) int {
	const further = 3
	for i := n; i <= n+further; i++ {
		line := src.text(i)
		if indent := len(line) - len(bytes.TrimLeft(line, " \t")); bytes.Contains(line[:indent], []byte("\t")) {
			return i
		}
	}
	return 0
}

// syntaxHint guesses what was meant by a line that is no YAML.
func syntaxHint(message, line string) string {
	for _, c := range []struct {
		begin, message string // of the line; in the message
		hint           string
	}{
		{"<<<<<<<", "", "two versions were not merged: keep one, and leave the markers out"},
		{"=======", "", "two versions were not merged: keep one, and leave the markers out"},
		{">>>>>>>", "", "two versions were not merged: keep one, and leave the markers out"},
		{"```", "", "leave out what Markdown puts around code"},
		{"", "Unicode character escape", `write the character itself: YAML takes no pairs of \u`},
		{"", "expected alphabetic or numeric character", `a text that begins with * or & needs quotes: "*"`},
		{"", "cannot start any token", "a text that begins with this sign needs quotes"},
		{"", "mapping values are not allowed", "a text with a colon and a space in it needs quotes; else this line is indented too far"},
		{"", "could not find expected ':'", "each line is a field with its value: name: value"},
		{"", "did not find expected key", "this line is indented otherwise than those it goes with"},
		{"", "did not find expected '-' indicator", "this line is indented otherwise than those it goes with"},
	} {
		if strings.HasPrefix(line, c.begin) && strings.Contains(message, c.message) {
			return c.hint
		}
	}
	return ""
}
