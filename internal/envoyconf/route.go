package envoyconf

import (
	"strings"
)

// host finds the virtual host of a request: an exact name, then the longest
// suffix, then the longest prefix, then *.
func (g *gateway) host(s *seen) *node {
	authority, _ := s.header(":authority")
	authority = strings.ToLower(authority)
	if text(field(g.manager, "strip_any_host_port")) == "true" ||
		text(field(g.manager, "route_config", "ignore_port_in_host_matching")) == "true" {
		authority = cleanHost(authority)
	}
	var best *node
	rank := -1
	for _, host := range items(field(g.manager, "route_config", "virtual_hosts")) {
		for _, domain := range items(field(host, "domains")) {
			if r := rankDomain(strings.ToLower(domain.Text), authority); r > rank {
				best, rank = host, r
			}
		}
	}
	return best
}

// rankDomain is how well a virtual host's domain takes a name; -1 is not at all.
func rankDomain(domain, name string) int {
	const exact, suffix, prefix = 3 << 20, 2 << 20, 1 << 20
	switch {
	case domain == "*":
		return 0
	case domain == name:
		return exact
	case strings.HasPrefix(domain, "*") && len(name) > len(domain)-1 && strings.HasSuffix(name, domain[1:]):
		return suffix + len(domain)
	case strings.HasSuffix(domain, "*") && len(name) > len(domain)-1 && strings.HasPrefix(name, domain[:len(domain)-1]):
		return prefix + len(domain)
	}
	return -1
}

// route finds the first route of a virtual host that takes the request. notes say
// what it had to take for granted.
func (g *gateway) route(host *node, s *seen) (route *node, notes []string) {
	for _, route := range items(field(host, "routes")) {
		ok, unknown := s.matchRoute(field(route, "match"))
		if !ok {
			continue
		}
		for _, what := range unknown {
			notes = append(notes, "the route at "+g.conf.tree.Place(route).String()+" depends on "+what+", which cannot be known here: it is taken to match")
		}
		return route, notes
	}
	return nil, notes
}

// matchRoute tells whether a RouteMatch takes the request, as far as that can be
// known.
func (s *seen) matchRoute(m *node) (ok bool, unknown []string) {
	ok, what := s.matchPath(m)
	if !ok && what == "" {
		return false, nil
	}
	note := func(what string) {
		if what != "" {
			unknown = append(unknown, what)
		}
	}
	note(what)
	headers, what := all(field(m, "headers"), s.matchHeader)
	note(what)
	queries, what := all(field(m, "query_parameters"), s.matchQuery)
	note(what)
	if !headers || !queries {
		return false, nil
	}
	if field(m, "grpc") != nil {
		if kind, _ := s.header("content-type"); !strings.HasPrefix(kind, "application/grpc") {
			return false, nil
		}
	}
	for _, name := range []string{"runtime_fraction", "dynamic_metadata", "filter_state", "tls_context"} {
		if field(m, name) != nil {
			note(name)
		}
	}
	return true, unknown
}

func (s *seen) matchPath(m *node) (ok bool, unknown string) {
	path, fold := s.path, text(field(m, "case_sensitive")) == "false"
	fit := func(n *node) string {
		if fold {
			return strings.ToLower(n.Text)
		}
		return n.Text
	}
	if fold {
		path = strings.ToLower(path)
	}
	if of := field(m, "prefix"); of != nil {
		return strings.HasPrefix(path, fit(of)), ""
	}
	if of := field(m, "path"); of != nil {
		return path == fit(of), ""
	}
	if of := field(m, "path_separated_prefix"); of != nil {
		rest, found := strings.CutPrefix(path, fit(of))
		return found && (rest == "" || rest[0] == '/'), ""
	}
	if of := field(m, "safe_regex"); of != nil {
		return matchRegex(text(field(of, "regex")), s.path)
	}
	if field(m, "connect_matcher") != nil {
		return s.method == "CONNECT", ""
	}
	return true, "a matcher of paths of another kind"
}

// clusterOf is the cluster that a route leads to; "" with a reason where there is
// none, or it cannot be known.
func (s *seen) clusterOf(route *node) (cluster, reason string) {
	action := field(route, "route")
	switch {
	case action == nil:
		return "", "the route leads to no cluster, so no rate limit is asked for"
	case field(action, "cluster") != nil:
		return text(field(action, "cluster")), ""
	case field(action, "cluster_header") != nil:
		value, _ := s.header(text(field(action, "cluster_header")))
		return value, ""
	}
	return "", "the cluster is chosen at random or elsewhere"
}
