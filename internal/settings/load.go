package settings

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
)

// Input is what settings are read from.
type Input struct {
	Args    []string // flags
	Environ []string // NAME=value
	// Program is what the process was started as; see RatelimitProgram.
	Program string
	// Exists tells whether there is a file or folder at a path.
	Exists func(path string) bool
}

// RatelimitProgram is the name under which the server takes the place of
// envoyproxy/ratelimit: PROFILE is ratelimit, and there is no default store.
const RatelimitProgram = "ratelimit"

// Report is what there is to tell about settings that were read.
type Report struct {
	Warnings  []string
	Effective []Value
}

// Value is a setting in force, as it may be shown: secrets are masked.
type Value struct{ Name, Text string }

// Problem is a setting that cannot be used.
type Problem struct {
	Name  string // as it was given: --grpc-port or GRPC_PORT
	Value string // as it may be shown; "" if it is not the value's fault
	Want  string // what is wrong or what is expected
}

func (p Problem) Error() string {
	if p.Value == "" {
		return p.Name + ": " + p.Want
	}
	return fmt.Sprintf("%s=%q: %s", p.Name, p.Value, p.Want)
}

// Problems are all settings that cannot be used, one a line.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// given is the text of a setting and where it came from.
type given struct {
	name string // of the flag or the variable; "" for a default
	text string
}

// loader is one reading of the settings.
type loader struct {
	in       Input
	env      environment
	flags    map[string]string // by Row.Name
	settings *Settings
	report   *Report
	problems Problems
}

// Load reads the settings. An error is a [Problems], or comes from [ParseFlags].
func Load(in Input) (*Settings, *Report, error) {
	l := &loader{in: in, settings: new(Settings), report: new(Report)}
	table := rows(l.settings)
	var err error
	if l.flags, err = readFlags(table, in.Args); err != nil {
		return nil, nil, err
	}
	l.env = readEnvironment(in.Environ)
	profile := l.profile(table)
	values := make(map[string]given, len(table))
	for i := range table {
		row := &table[i]
		g := l.find(row, profile)
		values[row.Name] = g
		l.apply(row, g)
	}
	if len(l.problems) == 0 {
		l.derive(values)
	}
	if len(l.problems) > 0 {
		return nil, nil, l.problems
	}
	l.report.Effective = append(l.report.Effective,
		Value{"rules", strings.Join(l.settings.Rules.Paths, ",")}, Value{"store", l.settings.Store.Target.String()})
	if second := l.settings.Store.PerSecond; second != nil {
		l.report.Effective = append(l.report.Effective, Value{"per-second store", second.Target.String()})
	}
	l.report.Warnings = append(l.report.Warnings, l.env.unknown(table)...)
	return l.settings, l.report, nil
}

// profile is known before all else: defaults depend on it.
func (l *loader) profile(table []Row) Profile {
	for i := range table {
		if row := &table[i]; row.Name == "PROFILE" {
			if strings.EqualFold(l.find(row, Native).text, string(Ratelimit)) {
				return Ratelimit
			}
		}
	}
	return Native
}

// find gives the text in force: of the flag, the environment, or the default.
func (l *loader) find(row *Row, profile Profile) given {
	if text, ok := l.flags[row.Name]; ok {
		return given{"--" + row.Flag(), text}
	}
	for _, name := range append([]string{row.Name}, row.Aliases...) {
		if text := l.env[name]; text != "" {
			return given{name, text}
		}
	}
	if row.Name == "PROFILE" && filepath.Base(l.in.Program) == RatelimitProgram {
		return given{"", string(Ratelimit)}
	}
	if profile == Ratelimit {
		return given{"", cmp.Or(row.RatelimitDefault, row.Default)}
	}
	return given{"", row.Default}
}

// apply reads a text into its field and tells about it.
func (l *loader) apply(row *Row, g given) {
	if row.Inert != "" {
		if g.name != "" && !strings.EqualFold(g.text, row.Quiet) {
			l.warn("%s does nothing here: %s", g.name, row.Inert)
		}
		return
	}
	if g.name != "" || g.text != "" {
		if err := row.kind.set(g.text); err != nil {
			l.refuse(g.name, row.show(g.text), "want "+row.Want())
			return
		}
	}
	if g.text != "" {
		l.report.Effective = append(l.report.Effective, Value{row.Name, row.show(g.text)})
	}
}

func (l *loader) warn(format string, args ...any) {
	l.report.Warnings = append(l.report.Warnings, fmt.Sprintf(format, args...))
}

func (l *loader) refuse(name, value, want string) {
	l.problems = append(l.problems, Problem{name, value, want})
}

// readFlags reads flags into texts by the name of their row. Texts are judged
// later, together with those of the environment.
func readFlags(table []Row, args []string) (map[string]string, error) {
	texts := map[string]string{}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	for i := range table {
		row := &table[i]
		if row.Inert != "" {
			continue
		}
		fs.Var(&textFlag{row: row, texts: texts}, row.Flag(), "")
	}
	if err := ParseFlags(fs, args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, &UsageError{Text: fmt.Sprintf("run takes no argument %q", fs.Arg(0)), Hint: "settings are given as --name=value"}
	}
	return texts, nil
}

// textFlag is a flag whose text is kept as it is.
type textFlag struct {
	row   *Row
	texts map[string]string
}

func (f *textFlag) String() string   { return "" }
func (f *textFlag) IsBoolFlag() bool { return f.row.isSwitch() }

func (f *textFlag) Set(text string) error {
	if before, ok := f.texts[f.row.Name]; ok && f.row.repeat {
		text = before + "," + text
	}
	f.texts[f.row.Name] = text
	return nil
}
