package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

const aCall = `{"domain":"d","descriptors":[{"entries":[{"key":"a","value":"1"}]}]}`

// askAPI sends a request, which adjust may change, to an API whose explanations
// name the domain and whether the call only looks.
func askAPI(method, path, body string, adjust func(*http.Request)) *httptest.ResponseRecorder {
	return askOf(&API{Log: slog.New(slog.DiscardHandler)}, method, path, body, adjust)
}

// askOf sends a request to an API, whose calls are answered here.
func askOf(api *API, method, path, body string, adjust func(*http.Request)) *httptest.ResponseRecorder {
	api.Call = func(_ context.Context, req *rls.Request) (*explain.Explanation, error) {
		x := &explain.Explanation{Domain: req.Domain}
		if !req.Look {
			x.Note = "it charges"
		}
		if req.Renew {
			x.Note = "as new"
		}
		if d := req.Descriptors; len(d) > 0 && d[0].IsNegative {
			x.Note = fmt.Sprintf("back: %d", d[0].Hits)
		}
		if req.Domain == "down" {
			return x, &rls.Error{Kind: rls.Unavailable}
		}
		return x, nil
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:6070"
	if adjust != nil {
		adjust(r)
	}
	w := httptest.NewRecorder()
	api.Handler().ServeHTTP(w, r)
	return w
}

func TestAPI(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	tests := []struct {
		what, method, path, body string
		adjust                   func(*http.Request)
		status                   int
		says                     string
	}{
		{what: "explain", method: "POST", path: "/api/explain", body: aCall, status: 200, says: `{"domain":"d"`},
		{what: "by name", method: "POST", path: "/api/explain", body: aCall, adjust: host("localhost:6070"), status: 200},
		{what: "by IPv6", method: "POST", path: "/api/explain", body: aCall, adjust: host("[::1]:6070"), status: 200},
		{what: "store is down", method: "POST", path: "/api/explain", body: strings.Replace(aCall, `"d"`, `"down"`, 1), status: 503, says: `"down"`},
		{what: "list", method: "GET", path: "/api/", status: 200, says: "/api/explain"},
		{what: "GET", method: "GET", path: "/api/explain", status: 405},
		{what: "unknown", method: "GET", path: "/api/nothing", status: 404},
		{what: "other origin", method: "POST", path: "/api/explain", body: aCall, adjust: header("Origin", "http://evil.test"), status: 403},
		{what: "other site", method: "POST", path: "/api/explain", body: aCall, adjust: header("Sec-Fetch-Site", "cross-site"), status: 403},
		{what: "rebound name", method: "POST", path: "/api/explain", body: aCall, adjust: host("evil.test:6070"), status: 421, says: "localhost"},
		{what: "no host", method: "POST", path: "/api/explain", body: aCall, adjust: host(""), status: 421},
		{what: "unknown field", method: "POST", path: "/api/explain", body: `{"domain":"d","look":true}`, status: 400, says: "look"},
		{what: "no JSON", method: "POST", path: "/api/explain", body: "d a=1", status: 400, says: "error"},
		{what: "10 MB", method: "POST", path: "/api/explain", body: `"` + strings.Repeat("x", 10<<20), status: 413, says: "1 MiB"},
	}
	for _, test := range tests {
		w := askAPI(test.method, test.path, test.body, test.adjust)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: %d %s", test.what, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: no JSON: %s", test.what, w.Body)
		}
		if bytes.Contains(w.Body.Bytes(), []byte("it charges")) {
			t.Errorf("%s: the call does not only look", test.what)
		}
	}
}

// What changes something is refused where nothing may be changed, and logged with
// who asked where it may.
func TestAPIChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, body string
		status     int
		says, logs string
	}{
		{"/api/try", aCall, 200, "it charges", ""},
		{"/api/reset", aCall, 200, "as new", "buckets were reset"},
		{"/api/grant", strings.Replace(aCall, "{", `{"hitsAddend":7,`, 1), 200, "back: 7", "hits=7"},
		{"/api/grant", aCall, 400, "hitsAddend", ""},
		{"/api/reset", strings.Replace(aCall, `"d"`, `"down"`, 1), 503, "", ""},
		{"/api/reload", "", 202, "begun", "reloading rules"},
		{"/api/log-level", `{"level":"debug"}`, 200, `"DEBUG"`, "level=DEBUG"},
		{"/api/log-level", `{"level":"loud"}`, 400, "want", ""},
		{"/api/log-level", `{"level":"debug","more":1}`, 400, "more", ""},
		{"/api/log-level", `{"level":"debug"} {}`, 400, "more than one", ""},
	} {
		if w := askAPI("POST", test.path, test.body, nil); w.Code != 403 || !strings.Contains(w.Body.String(), "ADMIN_CHANGES") {
			t.Errorf("%s where nothing may be changed: %d %s", test.path, w.Code, w.Body)
		}
		var log strings.Builder
		reloads := 0
		api := &API{Changes: true, Log: slog.New(slog.NewTextHandler(&log, nil)), Level: new(slog.LevelVar), Reload: func() { reloads++ }}
		w := askOf(api, "POST", test.path, test.body, nil)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.says) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: %d %s", test.path, test.body, w.Code, w.Body)
		}
		if got := log.String(); (got != "") != (test.logs != "") || !strings.Contains(got, test.logs) || test.logs != "" && !strings.Contains(got, "client=192.0.2.1:1234") {
			t.Errorf("%s %s: logged %q", test.path, test.body, got)
		}
		if (reloads == 1) != (test.path == "/api/reload") {
			t.Errorf("%s: %d reloads", test.path, reloads)
		}
	}
}

func TestProtect(t *testing.T) {
	t.Parallel()
	open := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	for _, test := range []struct {
		token, given string
		status       int
	}{
		{"", "", 204}, {"s3cret", "", 401}, {"s3cret", "Bearer s3cret", 204}, {"s3cret", "Bearer s3cre", 401},
		{"s3cret", "Basic s3cret", 401}, {"s3cret", "Bearer ", 401}, {"s3cret", "bearer s3cret2", 401},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if test.given != "" {
			r.Header.Set("Authorization", test.given)
		}
		w := httptest.NewRecorder()
		protect(open, test.token).ServeHTTP(w, r)
		if w.Code != test.status || strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
	}
}

// TestAPIReference holds docs/reference/admin-api.md to the routes.
func TestAPIReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "admin-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes() {
		if row := "| `" + r.method + " " + r.path + "` | " + r.what + " |"; !bytes.Contains(text, []byte(row)) {
			t.Errorf("docs/reference/admin-api.md lacks the row\n%s", row)
		}
	}
}
