package main

import (
	"errors"
	"flag"
	"io"
	"os"
	_ "time/tzdata" // calendar windows need time zones where the system has none
)

// console is what a command sees of the world.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	program        string // the name the process was started under
	environ        []string
}

func main() {
	c := &console{os.Stdin, os.Stdout, os.Stderr, os.Args[0], os.Environ()}
	os.Exit(c.main(os.Args[1:]))
}

// main runs the command that args name and returns the exit code.
func (c *console) main(args []string) int {
	cmd, rest, err := choose(args)
	if err == nil && cmd == nil {
		err = c.printHelp()
	} else if err == nil {
		err = cmd.run(c, rest)
		if errors.Is(err, flag.ErrHelp) {
			err = cmd.printHelp(c.stdout)
		}
	}
	return c.report(err)
}
