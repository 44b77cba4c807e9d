package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
)

// Public is the HTTP side that callers and orchestrators see: /json,
// /healthcheck, /livez and /readyz.
func Public(json http.Handler, health func() lifecycle.Report) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/json", json)
	mux.Handle("/healthcheck", healthcheck(health))
	mux.Handle("/readyz", readyz(health))
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "OK") })
	return mux
}

// healthcheck answers as envoyproxy/ratelimit does: 200 OK, or 500.
// ?verbose says why.
func healthcheck(health func() lifecycle.Report) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		report := health()
		status, text := http.StatusOK, "OK"
		if !report.Ready {
			status, text = http.StatusInternalServerError, ""
		}
		if r.URL.Query().Has("verbose") {
			text = describe(report)
		}
		writeText(w, status, text)
	}
}

// readyz answers as Kubernetes' own do: 200 or 503, always with the detail.
func readyz(health func() lifecycle.Report) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		report := health()
		status := http.StatusOK
		if !report.Ready {
			status = http.StatusServiceUnavailable
		}
		writeText(w, status, describe(report))
	}
}

func describe(r lifecycle.Report) string {
	var b strings.Builder
	if r.Ready {
		fmt.Fprintln(&b, "ready")
	} else {
		fmt.Fprintf(&b, "not ready (%s)\n", r.State)
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "- %s\n", reason)
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "problem: %s\n", problem)
	}
	return b.String()
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(text))
}
