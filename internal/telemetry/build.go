package telemetry

import (
	"runtime"
	"runtime/debug"
)

// Build says which build of the server this is.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// ReadBuild reads what the Go tools wrote into the binary; version, if not
// empty, was set by the linker and wins.
func ReadBuild(version string) Build {
	b := Build{Version: version, Revision: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if ok && b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	if !ok {
		return b
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		b.Revision += "-modified"
	}
	return b
}
