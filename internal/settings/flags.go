package settings

import (
	"errors"
	"flag"
	"io"
	"strings"
)

// UsageError is a command line that cannot be understood.
type UsageError struct {
	Text string
	Hint string // what to write instead; may be empty
}

func (e *UsageError) Error() string { return e.Text }

// dashes writes flags as help does.
var dashes = strings.NewReplacer("for flag -", "for flag --", "argument: -", "argument: --")

// ParseFlags parses args and prints nothing. An error is [flag.ErrHelp] or a
// [*UsageError]; of an unknown flag it names the nearest known one.
func ParseFlags(fs *flag.FlagSet, args []string) error {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	// The package has no kinds of errors, but has had these words since its first
	// release.
	if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
		var known []string
		fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		e := &UsageError{Text: "unknown flag --" + name}
		if near := Nearest(name, known); near != "" {
			e.Hint = "did you mean --" + near + "?"
		}
		return e
	}
	return &UsageError{Text: dashes.Replace(err.Error())}
}
