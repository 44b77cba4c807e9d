package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

// command is one verb of the command line.
type command struct {
	name string
	args string // as help shows them
	what string
	run  func(c *console, args []string) error
	help func(w io.Writer) error // what follows the usage line; may be nil
}

// commands lists all commands, the default first.
func commands() []command {
	return []command{runCommand, checkCommand, testCommand, explainCommand, benchCommand, schemaCommand, healthcheckCommand, versionCommand}
}

// choose finds the command of args: run where they name none, none where they
// ask for help.
func choose(args []string) (*command, []string, error) {
	all := commands()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !asksForHelp(args[0]) {
		return &all[0], args, nil
	}
	if args[0] == "help" || asksForHelp(args[0]) {
		args = append(args[1:], "")
		if args[0] == "" {
			return nil, nil, nil
		}
		args = []string{args[0], "--help"}
	}
	var names []string
	for i := range all {
		if all[i].name == args[0] {
			return &all[i], args[1:], nil
		}
		names = append(names, all[i].name)
	}
	hint := "envoy-rls help; the commands are " + strings.Join(names, ", ")
	if near := settings.Nearest(args[0], names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return nil, nil, &settings.UsageError{Text: fmt.Sprintf("unknown command %q", args[0]), Hint: hint}
}

func asksForHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

func (c *console) printHelp() error {
	fmt.Fprint(c.stdout, "envoy-rls is a rate limit server for Envoy.\n\nUsage:\n")
	for _, cmd := range commands() {
		fmt.Fprintf(c.stdout, "  envoy-rls %-32s %s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.what)
	}
	_, err := fmt.Fprint(c.stdout, "\nWithout a command it serves. envoy-rls COMMAND --help tells more.\n")
	return err
}

func (cmd *command) printHelp(w io.Writer) error {
	fmt.Fprintf(w, "Usage: envoy-rls %s\n\n%s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.what)
	if cmd.help == nil {
		return nil
	}
	return cmd.help(w)
}
