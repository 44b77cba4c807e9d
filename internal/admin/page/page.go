package page

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var files embed.FS

// policy lets the page load what is served here, and nothing from elsewhere.
const policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Handler serves the page and its files.
func Handler() http.Handler {
	// The folder is part of the program: it is there.
	root, _ := fs.Sub(files, "files")
	server := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}
