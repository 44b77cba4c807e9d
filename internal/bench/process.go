package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksASecond is in what unit Linux tells the time of processes: USER_HZ is
// part of its interface, and 100.
const ticksASecond = 100

// CPU is the time, user and system, that a process has taken. It is known on
// Linux only.
func CPU(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	// The name, in brackets, may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("CPU time of process %d: /proc is not as expected", pid)
	}
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksASecond, nil
}
