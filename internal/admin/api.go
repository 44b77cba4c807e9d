package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/live"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// API is what programs may ask a running server, below /api/ of the debug port.
// Answers are JSON; so are errors: {"error": "…"}.
type API struct {
	// Call decides a call as the limiter does, and says how.
	Call func(context.Context, *rls.Request) (*explain.Explanation, error)
	// Local is Call on the store that policies fall back to.
	Local  func(context.Context, *rls.Request) (*explain.Explanation, error)
	State  func() State
	Rules  func() Rules
	Live   *live.Hub
	Reload func() // must not block
	Level  *slog.LevelVar

	// Changes lets /api/ change things, not only show them.
	Changes bool
	// Hidden keeps values out of the audit log; sensitive ones are hashed there.
	Hidden bool
	Log    *slog.Logger
}

// route is one thing that may be asked.
type route struct {
	method, path, what string
	changes            bool
	serve              func(*API, http.ResponseWriter, *http.Request)
}

// routes are all of them; docs/reference/admin-api.md has a row for each.
func routes() []route {
	const call = "The body is a RateLimitRequest, as for `/json`."
	return []route{
		{"GET", "/api/", "What may be asked: this list.", false, (*API).list},
		{"GET", "/api/state", "The server: version, readiness and what stands in its way, store, rules.", false, (*API).state},
		{"GET", "/api/rules", "The limits in force, each with its place, and what the newest load found.", false, (*API).rules},
		{"POST", "/api/explain", "How a call would be decided now, and why. " + call + " Nothing is charged or counted.", false, (*API).explain},
		{"POST", "/api/buckets", "What each store holds of the buckets that a call meets. " + call + " Nothing is charged or counted.", false, (*API).buckets},
		{"POST", "/api/try", "The same, but the call is decided: charged and counted.", true, (*API).try},
		{"GET", "/api/live", "What is decided while you wait, `?seconds=` 1 to 30 (2): totals, the rules that deny most, the hottest values, the last denials.", false, (*API).live},
		{"GET", "/api/events", "The same as server-sent events, each of what came since the last, `?every=` 200ms to 10s (1s).", false, (*API).events},
		{"POST", "/api/playground", "The same traffic through every algorithm, in virtual time, on a store of its own.", false, (*API).playground},
		{"POST", "/api/reset", "Makes the buckets that a call meets as new. " + call, true, (*API).reset},
		{"POST", "/api/grant", "Gives them `hitsAddend` hits back. " + call, true, (*API).grant},
		{"POST", "/api/reload", "Loads rules now, as SIGHUP does.", true, (*API).reload},
		{"GET", "/api/log-level", "The least severe records that are logged.", false, (*API).logLevel},
		{"POST", "/api/log-level", "Changes that until the next start: `{\"level\": \"debug\"}`.", true, (*API).setLogLevel},
	}
}

// Handler serves the routes. It refuses what a page of another site may send in
// the name of somebody's browser: other origins, and names that lead here by
// somebody else's DNS.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		pattern := r.method + " " + r.path
		if strings.HasSuffix(r.path, "/") {
			pattern += "{$}"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			if r.changes && !a.Changes {
				writeError(w, http.StatusForbidden, "ADMIN_CHANGES is false: this API only shows")
				return
			}
			r.serve(a, w, req)
		})
	}
	return onlyOwnHosts(http.NewCrossOriginProtection().Handler(mux))
}

// onlyOwnHosts lets requests pass that name an address or localhost: no name that
// a stranger can point here.
func onlyOwnHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			writeError(w, http.StatusMisdirectedRequest, "ask by an address or localhost, not by another name")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		Method string `json:"method"`
		Path   string `json:"path"`
		What   string `json:"what"`
	}
	var rows []row
	for _, r := range routes() {
		rows = append(rows, row{r.method, r.path, r.what})
	}
	writeJSON(w, http.StatusOK, rows)
}

// readCall reads a call; if it is false the request has been answered.
func readCall(w http.ResponseWriter, r *http.Request, req *rls.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		writeError(w, http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB")
		return false
	}
	if err == nil {
		err = service.DecodeJSON(body, req)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return false
	}
	return true
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // whoever asked has left
}
