package admin

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// debugPages are the pages of the debug port, as / lists them.
var debugPages = [...]struct{ path, what string }{
	{"/rlconfig", "the limits in force"},
	{"/debug/pprof/", "profiles of the process"},
	{"/api/", "the same and more for programs, in JSON"},
}

// Debug is the debug port: a list of its pages at /, /rlconfig, pprof, and the API
// below /api/. It asks nobody who they are and belongs on a loopback address. The
// command line is not among the profiles: it may have passwords in it.
func Debug(rules func() *descriptors.Ruleset, api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", listPages)
	mux.HandleFunc("GET /rlconfig", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, rlconfig(rules()))
	})
	mux.Handle("/api/", api)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func listPages(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("<!doctype html><title>envoy-rls</title><ul>\n")
	for _, p := range debugPages {
		fmt.Fprintf(&b, "<li><a href=%q>%s</a>: %s\n", p.path, p.path, p.what)
	}
	b.WriteString("</ul>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(b.String()))
}

// rlconfig has a line for each limit, in the form of envoyproxy/ratelimit and
// with the algorithm after it.
func rlconfig(rs *descriptors.Ruleset) string {
	if rs == nil {
		return ""
	}
	var b strings.Builder
	for _, l := range rs.Limits() {
		path := l.Label
		if l.Rule != nil {
			path = l.Rule.Path
		}
		if l.Unlimited {
			fmt.Fprintf(&b, "%s: unlimited\n", path)
			continue
		}
		fmt.Fprintf(&b, "%s: unit=%s requests_per_unit=%d, shadow_mode: %t, quota_mode: %t, algorithm: %s",
			path, strings.ToUpper(l.Unit.String()), l.Amount, l.Shadow, l.Quota, l.Bucket.Algorithm)
		if l.Multiplier > 1 {
			fmt.Fprintf(&b, ", unit_multiplier: %d", l.Multiplier)
		}
		if l.Name != "" {
			fmt.Fprintf(&b, ", name: %q", l.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Metrics serves metrics at path, and nothing else.
func Metrics(path string, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+path, metrics)
	return mux
}
