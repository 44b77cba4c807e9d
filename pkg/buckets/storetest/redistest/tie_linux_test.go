package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// orphanEnv makes TestMakeOrphan run a server until it is killed.
const orphanEnv = "REDISTEST_ORPHAN"

// TestMakeOrphan is the process that TestServersDieWithTheTest kills.
func TestMakeOrphan(t *testing.T) {
	if os.Getenv(orphanEnv) == "" {
		return
	}
	os.Stdout.WriteString("server " + Start(t).Addr + "\n")
	time.Sleep(time.Minute)
}

func TestServersDieWithTheTest(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test := exec.Command(self, "-test.run=^TestMakeOrphan$")
	test.Env = append(os.Environ(), orphanEnv+"=1", "TMPDIR="+t.TempDir())
	out, err := test.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := test.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = test.Wait() }()
	defer func() { _ = test.Process.Kill() }()
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		_, addr, _ = strings.Cut(lines.Text(), "server ")
	}
	if conn, err := net.Dial("tcp", addr); err != nil {
		t.Fatal(err)
	} else {
		conn.Close()
	}
	if err := test.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server of a killed test goes on")
		}
	}
}
