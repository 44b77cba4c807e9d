package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// gcPercent lets the heap grow to five times what is live. What a server holds
	// is small, so that Go's 100 would collect it a hundred times a second.
	gcPercent = 400
	// memoryShare of what the container may use, in percent, is where the garbage
	// collector begins to work harder, whatever gcPercent says.
	memoryShare = 80
	// streamWorkers wait for calls with stacks that have grown already. They are
	// more than the calls that usually wait for the store at one time.
	streamWorkers = 256
)

// tuneRuntime sets what the operator has not, by GOGC and GOMEMLIMIT.
func tuneRuntime(environ []string) {
	set := map[string]bool{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value != ""
	}
	if !set["GOGC"] {
		debug.SetGCPercent(gcPercent)
	}
	if limit := cgroupMemory("/sys/fs/cgroup"); !set["GOMEMLIMIT"] && limit > 0 {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// cgroupMemory is how many bytes the container of this process may use; 0 if
// nothing bounds it, or it is not known. A container sees its own group at root,
// of version 2 or 1.
func cgroupMemory(root string) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit >= 1<<60 { // max, or version 1's way to say so
			return 0
		}
		return limit
	}
	return 0
}
