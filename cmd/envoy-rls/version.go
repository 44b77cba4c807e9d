package main

import (
	"encoding/json"
	"flag"
	"fmt"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
)

// version is set by the linker for releases: -ldflags "-X main.version=v1.2.3".
var version string

var versionCommand = command{
	name: "version",
	args: "[--json]",
	what: "Print the version of this binary.",
	run: func(c *console, args []string) error {
		fs := flag.NewFlagSet("version", flag.ContinueOnError)
		asJSON := fs.Bool("json", false, "")
		if err := settings.ParseFlags(fs, args); err != nil {
			return err
		}
		b := telemetry.ReadBuild(version)
		if *asJSON {
			return json.NewEncoder(c.stdout).Encode(b)
		}
		_, err := fmt.Fprintf(c.stdout, "envoy-rls %s (revision %s, %s)\n", b.Version, b.Revision, b.Go)
		return err
	},
}
