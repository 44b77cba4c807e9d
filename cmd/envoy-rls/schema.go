package main

import (
	"flag"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

var schemaCommand = command{
	name: "schema",
	what: "Print the JSON Schema of rule files, for editors.",
	run:  schema,
}

func schema(c *console, args []string) error {
	fs := flag.NewFlagSet("schema", flag.ContinueOnError)
	if err := settings.ParseFlags(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return &settings.UsageError{Text: "schema takes no arguments"}
	}
	_, err := c.stdout.Write(descriptors.JSONSchema())
	return err
}
