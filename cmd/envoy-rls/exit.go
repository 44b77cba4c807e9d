package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

// Exit codes of all commands.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2 // a command line or setting that cannot be used
	exitWarnings = 3 // check --strict: no errors, but warnings
)

// exitError ends a command that has said itself what is wrong.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// report prints an error and what to try, and returns the exit code.
func (c *console) report(err error) int {
	var (
		exit     exitError
		usage    *settings.UsageError
		problems settings.Problems
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		c.printError(usage.Text)
		if usage.Hint != "" {
			fmt.Fprintln(c.stderr, "Try:", usage.Hint)
		}
		return exitUsage
	case errors.As(err, &problems):
		c.printError(problems.Error())
		fmt.Fprintln(c.stderr, "Try: envoy-rls run --help lists all settings")
		return exitUsage
	}
	c.printError(err.Error())
	return exitFailure
}

func (c *console) printError(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(c.stderr, "Error:", line)
	}
}
