package envoyconf

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Request is what comes to the gateway.
type Request struct {
	Method  string
	Path    string // with the query
	Headers []Header
	Peer    netip.Addr // where it comes from
}

// Header is a header of a request.
type Header struct{ Name, Value string }

// ParseRequest reads a request line such as GET /cart?x=1, and headers of the
// form name: value.
func ParseRequest(line string, headers []string, peer string) (*Request, error) {
	method, target, found := strings.Cut(strings.TrimSpace(line), " ")
	target, _, _ = strings.Cut(strings.TrimSpace(target), " ") // without HTTP/1.1
	if !found || !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("request %q: want a method and a path, such as GET /cart?x=1", line)
	}
	r := &Request{Method: method, Path: target}
	for _, header := range headers {
		name, value, found := strings.Cut(header, ":")
		if !found || name == "" {
			return nil, fmt.Errorf("header %q: want name: value", header)
		}
		r.Headers = append(r.Headers, Header{strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)})
	}
	var err error
	if r.Peer, err = netip.ParseAddr(peer); err != nil {
		return nil, fmt.Errorf("remote address %q: want an IP address", peer)
	}
	return r, nil
}

// seen is a request as the filters of a gateway see it.
type seen struct {
	method, target string // target with the query
	path           string // without it
	headers        []Header
	remote         netip.Addr // the client's address, as far as it is trusted
}

// see is what a gateway makes of a request before its filters run.
func (g *gateway) see(r *Request) *seen {
	s := &seen{method: r.Method, target: r.Path, headers: r.Headers, remote: g.remote(r)}
	target, _, _ := strings.Cut(s.target, "#")
	before, query, found := strings.Cut(target, "?")
	if text(field(g.manager, "normalize_path")) == "true" {
		before = normalize(before)
	}
	if text(field(g.manager, "merge_slashes")) == "true" {
		before = slashes.ReplaceAllString(before, "/")
	}
	s.path, s.target = before, before
	if found {
		s.target += "?" + query
	}
	return s
}

var slashes = regexp.MustCompile("//+")

// normalize resolves . and .., turns \ into /, and decodes what need not be
// encoded, as Envoy's normalize_path does.
func normalize(p string) string {
	var b strings.Builder
	p = strings.ReplaceAll(p, `\`, "/")
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			if c, err := strconv.ParseUint(p[i+1:i+3], 16, 8); err == nil && unreserved(byte(c)) {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	var out []string
	parts := strings.Split(b.String(), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == "." && last:
			out = append(out, "")
		case part == ".":
		case part == "..":
			out = out[:max(1, len(out)-1)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, "/")
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// remote is the address that Envoy takes for the client's.
func (g *gateway) remote(r *Request) netip.Addr {
	hops, _ := strconv.Atoi(text(field(g.manager, "xff_num_trusted_hops")))
	if text(field(g.manager, "use_remote_address")) != "true" {
		hops++
	}
	if hops == 0 {
		return r.Peer
	}
	var forwarded []string
	for _, h := range r.Headers {
		if h.Name == "x-forwarded-for" {
			forwarded = append(forwarded, strings.Split(h.Value, ",")...)
		}
	}
	if len(forwarded) < hops {
		return r.Peer
	}
	addr, err := netip.ParseAddr(strings.TrimSpace(forwarded[len(forwarded)-hops]))
	if err != nil {
		return r.Peer
	}
	return addr
}

// header is the value of a header, several of one name joined by commas.
func (s *seen) header(name string) (value string, found bool) {
	switch name = strings.ToLower(name); name {
	case ":path":
		return s.target, true
	case ":method":
		return s.method, true
	case ":authority":
		name = "host"
	}
	var values []string
	for _, h := range s.headers {
		if h.Name == name {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ","), len(values) > 0
}

// query is the first value of a parameter, decoded.
func (s *seen) query(name string) (value string, found bool) {
	_, query, _ := strings.Cut(s.target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if decoded(key) == name && pair != "" {
			return decoded(value), true
		}
	}
	return "", false
}

func decoded(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}

// cleanHost is a host without its port.
func cleanHost(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return path.Clean(host)
}
