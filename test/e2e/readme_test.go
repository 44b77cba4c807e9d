package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadmeStarts runs the first command of README.md as it stands and sends
// what its curl sends, until a 200 turns into a 429.
func TestReadmeStarts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(repoRoot, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^go run \./cmd/envoy-rls.*$`).FindString(string(data))
	curl := regexp.MustCompile(`(?s)curl [^\n]*localhost:8080/json -d '([^']+)'`).FindSubmatch(data)
	if command == "" || curl == nil {
		t.Fatal("README.md has no command that starts with `go run ./cmd/envoy-rls`, or no curl to localhost:8080/json")
	}
	s := &rls{grpcPort: freePort(t), httpPort: freePort(t), metricsPort: freePort(t)}
	var env []string
	for _, e := range s.env(t) {
		if !strings.HasPrefix(e, "RULES=") { // the command finds the rules itself
			env = append(env, e)
		}
	}
	args := strings.Fields(command)
	p := start(t, "README command", env, args[0], args[1:]...)
	url := "http://127.0.0.1:" + s.httpPort
	// It is compiled first.
	eventually(t, 3*time.Minute, "the README's command serves", func() bool {
		select {
		case <-p.done:
			t.Fatal("the README's command ended")
		default:
		}
		code, _ := httpGet(t.Context(), url+"/readyz")
		return code == http.StatusOK
	})
	post := func() int {
		res, err := http.Post(url+"/json", "application/json", strings.NewReader(string(curl[1])))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if code := post(); code != http.StatusOK {
		t.Fatalf("the README's curl is answered with status %d, want 200", code)
	}
	eventually(t, 10*time.Second, "a 429 to the README's curl", func() bool {
		return post() == http.StatusTooManyRequests
	})
}
