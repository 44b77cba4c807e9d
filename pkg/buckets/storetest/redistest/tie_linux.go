package redistest

import (
	"os/exec"
	"syscall"
)

// tie has the kernel kill a process when the thread that starts it ends.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
