package descriptors

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity says what a problem does to the rules.
type Severity uint8

const (
	// Error keeps the new rules of the domain from loading.
	Error Severity = iota
	// Warning is something that loads, but hardly does what is meant.
	Warning
	// Note is something that does what is written, and may surprise.
	Note
)

var severityNames = [...]string{"error", "warning", "note"}

func (s Severity) String() string { return severityNames[s] }

// MarshalText is for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one problem of a rule file.
type Diagnostic struct {
	Place
	EndCol   int      `json:"end_col,omitempty"` // first column after the text in question; 0 = unknown
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`   // what to write instead
	Path     string   `json:"path,omitempty"`   // such as descriptors[0].rate_limit.unit
	Domain   string   `json:"domain,omitempty"` // "" if it cannot be told
	Source   string   `json:"source,omitempty"` // the line of the file, or a part of a long one

	sourceCol int // column of the place in Source
}

func isError(d Diagnostic) bool { return d.Severity == Error }

// String is the first line of the text form: file:line:col: severity: message.
// Where there are no lines, the path follows the file if there is one.
func (d Diagnostic) String() string {
	place := d.Place.String()
	if d.Line == 0 && d.Path != "" {
		place += ": " + d.Path
	}
	return fmt.Sprintf("%s: %s: %s", place, d.Severity, d.Message)
}

// WriteText writes diagnostics for people: each with its line and a mark under
// the text in question, and a last line that counts. files is how many files
// were looked at.
func WriteText(w io.Writer, diagnostics []Diagnostic, files int) error {
	for i := range diagnostics {
		if _, err := io.WriteString(w, diagnostics[i].text()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, Summary(diagnostics, files))
	return err
}

// Count tells how many diagnostics are of each severity.
func Count(diagnostics []Diagnostic) (errors, warnings, notes int) {
	var of [len(severityNames)]int
	for i := range diagnostics {
		of[diagnostics[i].Severity]++
	}
	return of[Error], of[Warning], of[Note]
}

// Summary counts diagnostics in one line. Notes are no problems.
func Summary(diagnostics []Diagnostic, files int) string {
	errors, warnings, notes := Count(diagnostics)
	text := "no problems"
	if problems := errors + warnings; problems > 0 {
		var parts []string
		if errors > 0 {
			parts = append(parts, count(errors, "error"))
		}
		if warnings > 0 {
			parts = append(parts, count(warnings, "warning"))
		}
		text = count(problems, "problem") + " (" + strings.Join(parts, ", ") + ")"
	}
	if notes > 0 {
		text += ", " + count(notes, "note")
	}
	return text + " in " + count(files, "file")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d *Diagnostic) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, printable(d.String()))
	switch {
	case d.Line > 0 && d.Source != "":
		from := d.sourceCol - 1
		before, marked, line := excerpt(d.Source, from, from+d.EndCol-d.Col)
		fmt.Fprintf(&b, "%5d | %s\n      | %s^%s", d.Line, line, blank(before), strings.Repeat("~", max(0, marked-1)))
		if d.Hint != "" {
			b.WriteString(" " + printable(d.Hint))
		}
		b.WriteByte('\n')
	case d.Hint != "":
		fmt.Fprintf(&b, "      | %s\n", printable(d.Hint))
	}
	return b.String()
}

// Longest part of a line that is shown, and what is kept before the mark.
const (
	excerptRunes = 120
	excerptLead  = 40
)

// excerpt cuts a line so that the text from column from to to is seen. It
// returns what stands before the mark, the length of the mark, and the line.
func excerpt(source string, from, to int) (before string, marked int, line string) {
	runes := []rune(printable(source))
	from = min(max(from, 0), len(runes))
	to = min(max(to, from+1), len(runes)+1)
	start, end := 0, len(runes)
	if len(runes) > excerptRunes {
		start = max(0, from-excerptLead)
		end = min(len(runes), start+excerptRunes)
	}
	lead, tail := "", ""
	if start > 0 {
		lead = "…"
	}
	if end < len(runes) {
		tail = "…"
	}
	return lead + string(runes[start:from]), min(to, max(end, from+1)) - from, lead + string(runes[start:end]) + tail
}

// blank is white space as wide as s.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}

// printable replaces what would disturb a terminal, sign by sign.
func printable(s string) string {
	if !strings.ContainsFunc(s, disturbs) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if disturbs(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

func disturbs(r rune) bool { return r != '\t' && r != ' ' && !unicode.IsPrint(r) }
