package settings

import (
	"fmt"
	"io"
	"strings"
)

const helpWidth = 88

// WriteHelp prints all settings: flag, environment name, help, default.
func WriteHelp(w io.Writer) error {
	var b strings.Builder
	group := ""
	for _, row := range Rows() {
		if row.Inert != "" {
			continue
		}
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(&b, "\n%s:\n", group)
		}
		row.writeHelp(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Row) writeHelp(b *strings.Builder) {
	flag := "--" + r.Flag()
	if !r.isSwitch() {
		flag += " " + r.kind.word
	}
	fmt.Fprintf(b, "  %s  [%s]\n", flag, strings.Join(append([]string{r.Name}, r.Aliases...), ", "))
	help := r.Help
	switch {
	case r.RatelimitDefault != "":
		help += fmt.Sprintf(" Default: %s; %s under PROFILE=ratelimit.", r.Default, r.RatelimitDefault)
	case r.Default != "":
		help += fmt.Sprintf(" Default: %s.", r.Default)
	}
	wrap(b, help, "        ")
}

// wrap writes text in lines of at most helpWidth.
func wrap(b *strings.Builder, text, indent string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > helpWidth && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}
