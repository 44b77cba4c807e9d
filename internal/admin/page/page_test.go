package page

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is vendored is what its README says.
func TestVendored(t *testing.T) {
	t.Parallel()
	readme, err := fs.ReadFile(files, "files/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(files, "files/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		data, err := fs.ReadFile(files, "files/vendor/"+e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%x  %s", sha256.Sum256(data), e.Name()); !strings.Contains(string(readme), line) {
			t.Errorf("the README of what is vendored lacks %s", line)
		}
	}
}

// The page loads from itself, and no script or style stands in its text.
func TestPolicy(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'self';") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, inline := range []string{"<script>", " onclick", "<style", " style=", "http://", "https://"} {
		if strings.Contains(w.Body.String(), inline) {
			t.Errorf("the page has %q in it", inline)
		}
	}
}
