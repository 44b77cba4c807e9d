package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// secret is in every place where a password may stand.
const secret = "hunter2"

// guarded is a Redis that wants a password.
func guarded(t *testing.T, password string) string {
	t.Helper()
	redis := redistest.Start(t)
	redis.Client().MustDo(t, "CONFIG", "SET", "requirepass", password)
	return redis.Addr
}

// tattletale is a server that refuses every command and repeats it, as old
// servers and proxies do with commands that they do not know.
func tattletale(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go repeat(conn)
		}
	}()
	return l.Addr().String()
}

func repeat(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "-ERR unknown command `%s`, with args beginning with: `%s`\r\n", args[0], strings.Join(args[1:], "` `"))
	}
}

func readCommand(in *bufio.Reader) ([]string, error) {
	count, err := readLength(in)
	if err != nil || count < 1 {
		return nil, io.ErrUnexpectedEOF
	}
	args := make([]string, count)
	for i := range args {
		size, err := readLength(in)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = strings.ReplaceAll(string(text[:size]), "\n", " ")
	}
	return args, nil
}

func readLength(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(line[1 : len(line)-2])
}

// Passwords are nowhere to be seen: not in the log at its most talkative, nor in
// metrics, health, pages or answers, whether Redis takes them, refuses them,
// repeats them, or is not there.
func TestPasswordsStaySecret(t *testing.T) {
	t.Parallel()
	rules := t.TempDir()
	writeRules(t, rules, "shop.yaml", limitTo("shop", 5))
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("user:"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	takes, refuses := guarded(t, secret), guarded(t, "another")
	repeats := tattletale(t)
	for name, args := range map[string][]string{
		"taken":                {"--store=redis://:" + secret + "@" + takes},
		"taken, by setting":    {"--redis-url=" + takes, "--redis-auth=" + secret},
		"refused":              {"--store=redis://user:" + secret + "@" + refuses},
		"refused, from a file": {"--redis-url=" + refuses, "--redis-auth-file=" + file},
		"repeated":             {"--redis-url=" + repeats, "--redis-auth=user:" + secret},
		"repeated, cluster":    {"--store=redis-cluster://user:" + secret + "@" + repeats},
		"repeated, sentinel":   {"--redis-type=sentinel", "--redis-url=main," + repeats, "--redis-auth=" + secret, "--redis-sentinel-auth=user:" + secret},
		"refused, TLS":         {"--store=rediss://:" + secret + "@" + takes},
		"per second":           {"--redis-url=" + takes, "--redis-auth=" + secret, "--redis-persecond", "--redis-persecond-url=redis://:" + secret + "@" + refuses},
		"per second, repeated": {"--redis-url=" + takes, "--redis-auth=" + secret, "--redis-persecond", "--redis-persecond-url=" + repeats, "--redis-persecond-auth=" + secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(args, "--rules="+rules, "--log-level=debug", "--drain-delay=0s", "--hash-key="+secret)...)
			until(t, "the rules are loaded", func() bool { return len(s.logged("rules loaded")) > 0 })
			var seen []string
			for range 3 {
				_, text := s.ask("shop", "user", "ann")
				seen = append(seen, text)
				time.Sleep(300 * time.Millisecond) // a probe later
			}
			for port, paths := range map[string][]string{"HTTP": {"/readyz", "/healthcheck"}, "metrics": {"/metrics"}, "debug": {"/rlconfig", "/", "/api/state", "/api/rules"}} {
				for _, path := range paths {
					_, text := s.get(port, path)
					seen = append(seen, text)
				}
			}
			s.signal(os.Interrupt)
			s.exits()
			for _, text := range append(seen, s.raw...) {
				if strings.Contains(text, secret) {
					t.Errorf("the password is seen: %s", text)
				}
			}
		})
	}
}

// Nor are they in help, or in what is said of settings that cannot be used.
func TestPasswordsStaySecretInErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--help"},
		{"--store=redis://:" + secret + "@r:x"},
		{"--store=redis://:" + secret + "/@r"},
		{"--store=" + secret + "@r"},
		{"--store=redis://u:" + secret + "@%zz"},
		{"--store=redis://u:%zz" + secret + "@r"},
		{"--redis-url=u:" + secret + "@%zz"},
		{"--store=redis-cluster://u:" + secret + "@r/7"},
		{"--redis-url=redis://:" + secret + "@a,redis://b", "--redis-type=cluster"},
		{"--redis-url=main,redis://:" + secret + "@a", "--redis-type=sentinel"},
		{"--redis-url=r", "--redis-auth-file=/none", "--redis-auth=" + secret},
		{"--redis-url=r", "--redis-persecond", "--redis-persecond-url=redis://u:" + secret + "@q:q"},
	} {
		cmd := exec.Command("envoy-rls", append([]string{"run"}, args...)...)
		cmd.Env = []string{"REDIS_AUTH=" + secret, "REDIS_SENTINEL_AUTH=" + secret, "REDIS_PERSECOND_AUTH=" + secret, "HASH_KEY=" + secret}
		out, _ := cmd.CombinedOutput() // it ends with an error, but for help
		if code := cmd.ProcessState.ExitCode(); code != 2 && args[0] != "--help" {
			t.Errorf("%q: exit code %d:\n%s", args, code, out)
		}
		if strings.Contains(string(out), secret) || len(out) == 0 {
			t.Errorf("%q:\n%s", args, out)
		}
	}
}
