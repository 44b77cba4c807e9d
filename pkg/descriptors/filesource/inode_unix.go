//go:build unix

package filesource

import (
	"io/fs"
	"syscall"
)

// inode tells a file from another that took its place.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
