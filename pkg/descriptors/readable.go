package descriptors

import (
	"bytes"
	"regexp"
	"strings"
)

// domainValue is what follows the word domain where that is a field.
var domainValue = regexp.MustCompile(`\A["']?[ \t]*:[ \t]*(?:"([^"\\\r\n]+)"|'([^'\r\n]+)'|([^\s"'#&*!|>{\[][^#,}\r\n]*))`)

// readableDomains lists the domains that a text names which cannot be parsed:
// what looks like the field at the top of a document.
func readableDomains(data []byte) []string {
	const word, most = "domain", 1024
	var all []string
	data = data[:min(len(data), maxFileBytes)]
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte(word))
		if i < 0 {
			return all
		}
		at := from + i
		from = at + len(word)
		if !beginsField(data[:at]) {
			continue
		}
		groups := domainValue.FindSubmatch(data[from:min(len(data), from+most)])
		if groups == nil {
			continue
		}
		if name := strings.TrimSpace(string(bytes.Join(groups[1:], nil))); name != "" {
			all = append(all, name)
		}
	}
}

// beginsField tells whether what comes next may be a field at the top: in quotes,
// or first in its line or in braces.
func beginsField(before []byte) bool {
	if len(before) == 0 || before[len(before)-1] == '"' || before[len(before)-1] == '\n' || before[len(before)-1] == '\r' {
		return true
	}
	before = bytes.TrimRight(before[max(0, len(before)-64):], " \t")
	return bytes.HasSuffix(before, []byte("{")) || bytes.HasSuffix(before, []byte("\ufeff"))
}
