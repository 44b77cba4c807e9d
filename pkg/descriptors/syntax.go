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
	hint := ""
	if line := tabbed(src, int(at.line)); line > 0 {
		at.line, hint = int32(line), "indent with spaces: YAML takes no tabs"
	}
	if strings.Contains(message, "Unicode character escape") {
		hint = "write the character itself: YAML takes no pairs of \\u"
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
