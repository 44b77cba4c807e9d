package limiter

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Global counts all requests together.
func Global(name string) Key {
	return Key{name, func(*http.Request) (string, bool) { return "all", true }}
}

// Header counts by a header of the request; requests without it are not counted. A
// client may write what it likes there: count by it only what something in front has
// set or checked.
func Header(name, header string) Key {
	return Key{name, func(r *http.Request) (string, bool) {
		value := r.Header.Get(header)
		return value, value != ""
	}}
}

// Endpoint counts by method and path: by the pattern that the mux matched, if there is
// one, so that /users/1 and /users/2 are one.
func Endpoint(name string) Key {
	return Key{name, func(r *http.Request) (string, bool) {
		if r.Pattern != "" {
			return r.Pattern, true
		}
		return r.Method + " " + r.URL.Path, true
	}}
}

// ClientIP counts by the address of the client, IPv6 by its network of 64 bits. Where
// the request comes from a proxy of trusted, X-Forwarded-For is believed from its end,
// as far as trusted proxies wrote it: what a client puts before that is not.
func ClientIP(name string, trusted ...netip.Prefix) Key {
	return Key{name, func(r *http.Request) (string, bool) {
		addr, ok := clientIP(r, trusted)
		if !ok {
			return "", false
		}
		if addr.Is6() {
			prefix, _ := addr.Prefix(64) // 64 bits are there
			return prefix.String(), true
		}
		return addr.String(), true
	}}
}

func clientIP(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, ok := parseAddr(host)
	if !ok {
		return addr, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(addr, trusted); i-- {
		before, ok := parseAddr(strings.TrimSpace(hops[i]))
		if !ok {
			break // nobody we trust writes that
		}
		addr = before
	}
	return addr, true
}

func parseAddr(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	for _, p := range trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
