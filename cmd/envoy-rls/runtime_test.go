package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCgroupMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, text string
		want       int64
	}{
		{"memory.max", "536870912\n", 512 << 20},
		{"memory.max", "max\n", 0},
		{"memory/memory.limit_in_bytes", "1073741824\n", 1 << 30},
		{"memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
		{"other", "1", 0},
	} {
		root := t.TempDir()
		file := filepath.Join(root, tt.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupMemory(root); got != tt.want {
			t.Errorf("%s %q: %d, want %d", tt.file, tt.text, got, tt.want)
		}
	}
}
