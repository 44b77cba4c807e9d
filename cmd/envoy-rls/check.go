package main

import (
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
)

// defaultRules is what check looks at where nothing else is named.
const defaultRules = "./config"

// maxStdinBytes is more than a rule file may have: the compiler says so.
const maxStdinBytes = 64 << 20

var checkCommand = command{
	name: "check",
	args: "[--strict] [PATH…|-]",
	what: "Report all problems of rule files, as the server would.",
	run:  check,
	help: func(w io.Writer) error {
		_, err := fmt.Fprint(w, `
  PATH      Rule files and folders. Default: ./config. - is standard input.
  --strict  Warnings fail, too.

Exit code 0 if all is well, 1 with errors, 2 if the command line is wrong,
3 with warnings under --strict.
`)
		return err
	},
}

func check(c *console, args []string) error {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	strict := fs.Bool("strict", false, "")
	paths, err := parseMixed(fs, args)
	if err != nil {
		return err
	}
	files, diagnostics, err := c.readRules(paths)
	if err != nil {
		return err
	}
	_, found := descriptors.Compile(files, nil, descriptors.Options{})
	diagnostics = append(diagnostics, found...)
	if err := descriptors.WriteText(c.stdout, diagnostics, len(files)); err != nil {
		return err
	}
	isError := func(d descriptors.Diagnostic) bool { return d.Severity == descriptors.Error }
	switch {
	case slices.ContainsFunc(diagnostics, isError):
		return exitError(exitFailure)
	case *strict && len(diagnostics) > 0:
		return exitError(exitWarnings)
	}
	return nil
}

// readRules reads the files below paths, or standard input.
func (c *console) readRules(paths []string) ([]descriptors.File, []descriptors.Diagnostic, error) {
	switch {
	case len(paths) == 0:
		paths = []string{defaultRules}
	case len(paths) == 1 && paths[0] == "-":
		data, err := io.ReadAll(io.LimitReader(c.stdin, maxStdinBytes))
		if err != nil {
			return nil, nil, fmt.Errorf("read standard input: %w", err)
		}
		return []descriptors.File{{Name: "-", Data: data}}, nil, nil
	case slices.Contains(paths, "-"):
		return nil, nil, &settings.UsageError{Text: "- stands alone: rules come from standard input or from paths"}
	}
	files, diagnostics := filesource.ReadPaths(paths)
	return files, diagnostics, nil
}

// parseMixed parses flags that may stand before, between and after arguments,
// and returns the arguments.
func parseMixed(fs *flag.FlagSet, args []string) ([]string, error) {
	var plain []string
	for {
		if err := settings.ParseFlags(fs, args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return plain, nil
		}
		plain = append(plain, fs.Arg(0))
		args = fs.Args()[1:]
	}
}
