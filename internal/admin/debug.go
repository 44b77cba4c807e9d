package admin

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/admin/page"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Debug is the debug port: the page at /, what it asks below /api/, /rlconfig and
// pprof. Whoever has the token gets all of it; the page's own files are for anybody,
// for a browser that asks for them has no token yet. It belongs on a loopback address.
// The command line is not among the profiles: it may have passwords in it.
func Debug(rules func() *descriptors.Ruleset, api http.Handler, token string) http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("GET /rlconfig", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, rlconfig(rules()))
	})
	guarded.Handle("/api/", api)
	guarded.HandleFunc("/debug/pprof/", pprof.Index)
	guarded.HandleFunc("/debug/pprof/profile", pprof.Profile)
	guarded.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	guarded.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux := http.NewServeMux()
	for _, path := range []string{"/rlconfig", "/api/", "/debug/pprof/"} {
		mux.Handle(path, protect(guarded, token))
	}
	mux.Handle("/", page.Handler())
	return mux
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
