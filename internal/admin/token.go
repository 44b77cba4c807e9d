package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// protect asks for a bearer token; without one it asks nobody. Tokens are compared
// by their hashes in constant time: neither length nor content leaks.
func protect(next http.Handler, token string) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !found || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="envoy-rls"`)
			writeError(w, http.StatusUnauthorized, "the token of ADMIN_TOKEN is asked for: Authorization: Bearer …")
			return
		}
		next.ServeHTTP(w, r)
	})
}
