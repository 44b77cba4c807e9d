package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// API is what programs may ask a running server, below /api/ of the debug port.
// Answers are JSON; so are errors: {"error": "…"}.
type API struct {
	// Explain decides a call, which only looks, and says how.
	Explain func(context.Context, *rls.Request) (*explain.Explanation, error)
}

// route is one thing that may be asked.
type route struct {
	method, path, what string
	serve              func(*API, http.ResponseWriter, *http.Request)
}

// routes are all of them; docs/reference/admin-api.md has a row for each.
func routes() []route {
	return []route{
		{"GET", "/api/", "What may be asked: this list.", (*API).list},
		{"POST", "/api/explain", "How a call would be decided now, and why. The body is a RateLimitRequest, as for `/json`. Nothing is charged or counted.", (*API).explain},
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
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { r.serve(a, w, req) })
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

func (a *API) explain(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if !readCall(w, r, &req) {
		return
	}
	req.Look = true
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	x, err := a.Explain(ctx, &req)
	status := http.StatusOK
	if failed, ok := errors.AsType[*rls.Error](err); ok && failed.Kind == rls.Invalid {
		status = http.StatusBadRequest
	} else if err != nil {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, x)
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
