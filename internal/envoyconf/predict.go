package envoyconf

import (
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Prediction is what a gateway makes of a request.
type Prediction struct {
	Listener    string   `json:"listener"`
	VirtualHost string   `json:"virtual_host,omitempty"`
	Route       string   `json:"route,omitempty"` // its place in the file
	Cluster     string   `json:"cluster,omitempty"`
	Notes       []string `json:"notes,omitempty"` // what cannot be known, and what is odd
	Calls       []Call   `json:"calls"`
}

// Call is one call to the rate limit service.
type Call struct {
	Domain        string       `json:"domain"`
	AfterResponse bool         `json:"after_response,omitempty"` // its answer changes nothing
	Descriptors   []Descriptor `json:"descriptors"`
}

// Descriptor is a descriptor of a call, or one that is not sent.
type Descriptor struct {
	Entries []Entry   `json:"entries"`
	Dropped string    `json:"dropped,omitempty"` // why it is not sent
	Hits    *uint64   `json:"hits_addend,omitempty"`
	Refund  bool      `json:"is_negative_hits,omitempty"`
	Limit   *Override `json:"limit,omitempty"`
	Unknown []string  `json:"unknown,omitempty"` // what of it cannot be known
	Place   string    `json:"place"`
}

// Override is a limit that a descriptor brings along.
type Override struct {
	RequestsPerUnit uint32 `json:"requests_per_unit"`
	Unit            string `json:"unit"`
}

// Predict says for each gateway of the configuration what a request would make it
// ask.
func (c *Config) Predict(r *Request) []Prediction {
	all := make([]Prediction, len(c.gateways))
	for i, g := range c.gateways {
		all[i] = g.predict(r)
	}
	return all
}

func (g *gateway) predict(r *Request) Prediction {
	p := Prediction{Listener: g.listener, Calls: []Call{}}
	s := g.see(r)
	if len(g.before) > 0 {
		p.Notes = append(p.Notes, "filters before the rate limit may change the request: "+strings.Join(g.before, ", "))
	}
	if field(g.manager, "route_config") == nil {
		p.Notes = append(p.Notes, "its routes are not in this file")
		return p
	}
	host := g.host(s)
	if host == nil {
		p.Notes = append(p.Notes, "no virtual host has this Host: 404")
		return p
	}
	p.VirtualHost = text(field(host, "name"))
	route, notes := g.route(host, s)
	p.Notes = append(p.Notes, notes...)
	if route == nil {
		p.Notes = append(p.Notes, "no route takes the request: 404")
		return p
	}
	p.Route = g.conf.tree.Place(route).String()
	cluster, reason := s.clusterOf(route)
	if p.Cluster = cluster; reason != "" {
		p.Notes = append(p.Notes, reason)
	}
	if field(route, "route") == nil {
		return p
	}
	at := &site{seen: s, conf: g.conf, route: route, cluster: cluster, unknown: reason}
	for _, f := range g.filters {
		p.Calls = append(p.Calls, at.calls(&f, host, field(g.manager, "route_config"), &p)...)
	}
	return p
}

// calls are those of one filter: the one before the response, and the one after
// it.
func (s *site) calls(f *filter, host, config *node, p *Prediction) []Call {
	if kind := strings.ToLower(text(field(f.config, "request_type"))); kind == "internal" || kind == "external" {
		p.Notes = append(p.Notes, "the filter asks for "+kind+" requests only: whether this is one cannot be known here")
	}
	domain, lists := s.lists(f, host, config)
	before, after := Call{Domain: domain}, Call{Domain: domain, AfterResponse: true}
	for _, limit := range lists {
		d := s.descriptor(limit)
		if field(limit, "disable_key") != nil {
			d.Unknown = append(d.Unknown, "runtime may switch it off: "+text(field(limit, "disable_key")))
		}
		call := &before
		if text(field(limit, "apply_on_stream_done")) == "true" {
			call = &after
		}
		call.Descriptors = append(call.Descriptors, d)
	}
	var calls []Call
	for _, call := range []Call{before, after} {
		if len(call.Descriptors) > 0 {
			calls = append(calls, call)
		}
	}
	return calls
}

// lists finds the rate limits that apply: those of the most specific
// RateLimitPerRoute, else of the filter, else of the route and its virtual host.
func (s *site) lists(f *filter, host, config *node) (domain string, limits []*node) {
	domain = text(field(f.config, "domain"))
	var perRoute *node
	for _, of := range []*node{s.route, host, config} {
		if perRoute = field(of, "typed_per_filter_config").Get(f.name); perRoute != nil {
			break
		}
	}
	if of := text(field(perRoute, "domain")); of != "" {
		domain = of
	}
	if own := items(field(perRoute, "rate_limits")); len(own) > 0 {
		return domain, own
	}
	if own := items(field(f.config, "rate_limits")); len(own) > 0 {
		return domain, own
	}
	stage := stageOf(f.config)
	ofRoute := items(field(s.route, "route", "rate_limits"))
	limits = staged(ofRoute, stage)
	include := text(field(s.route, "route", "include_vh_rate_limits")) == "true"
	switch text(field(perRoute, "vh_rate_limits")) {
	case "INCLUDE", "1":
		include = true
	case "IGNORE", "2":
		return domain, limits
	}
	if include || len(ofRoute) == 0 {
		limits = append(limits, staged(items(field(host, "rate_limits")), stage)...)
	}
	return domain, limits
}

func stageOf(n *node) string {
	if stage := text(field(n, "stage")); stage != "" {
		return stage
	}
	return "0"
}

func staged(limits []*node, stage string) []*node {
	var all []*node
	for _, limit := range limits {
		if stageOf(limit) == stage {
			all = append(all, limit)
		}
	}
	return all
}

func (s *site) descriptor(limit *node) Descriptor {
	d := Descriptor{Entries: []Entry{}, Place: s.conf.tree.Place(limit).String()}
	for _, action := range items(field(limit, "actions")) {
		switch o := s.act(action); {
		case o.drop != "":
			d.Dropped = o.drop
			return d
		case !o.skip:
			d.Entries = append(d.Entries, o.entry)
			if o.entry.Unknown != "" {
				d.Unknown = append(d.Unknown, o.entry.Key+": "+o.entry.Unknown)
			}
		}
	}
	// Where every action is skipped, Envoy sends a descriptor without entries.
	s.cost(&d, field(limit, "hits_addend"))
	s.override(&d, field(limit, "limit"))
	return d
}

func (s *site) cost(d *Descriptor, n *node) {
	if n == nil {
		return
	}
	d.Refund = text(field(n, "is_negative_hits")) == "true"
	if format := text(field(n, "format")); format != "" {
		d.Unknown = append(d.Unknown, "hits_addend: "+format)
		return
	}
	if number, err := strconv.ParseUint(text(field(n, "number")), 10, 64); err == nil {
		d.Hits = &number
	}
}

func (s *site) override(d *Descriptor, n *node) {
	if n == nil {
		return
	}
	of := field(n, "rate_limit")
	if of == nil {
		d.Unknown = append(d.Unknown, "limit: dynamic metadata")
		return
	}
	amount, _ := strconv.ParseUint(text(field(of, "requests_per_unit")), 10, 32)
	d.Limit = &Override{uint32(amount), strings.ToLower(text(field(of, "unit")))}
}

// Request is the call as the rate limit service gets it, with the descriptors
// whose entries are known; sent has the index of each.
func (c *Call) Request() (req *rls.Request, sent []int) {
	req = &rls.Request{Domain: c.Domain}
	for i := range c.Descriptors {
		of := &c.Descriptors[i]
		if of.Dropped != "" || hasUnknown(of.Entries) {
			continue
		}
		sent = append(sent, i)
		d := req.AddDescriptor()
		for _, e := range of.Entries {
			d.Entries = append(d.Entries, descriptors.Entry{Key: e.Key, Value: e.Value})
		}
		d.IsNegative = of.Refund
		if of.Hits != nil {
			d.HasHits, d.Hits = true, *of.Hits
		}
		if of.Limit != nil {
			unit, _ := descriptors.ParseUnit(of.Limit.Unit)
			d.HasLimit, d.Limit = true, rls.Override{RequestsPerUnit: of.Limit.RequestsPerUnit, Unit: int32(unit)}
		}
	}
	return req, sent
}

func hasUnknown(entries []Entry) bool {
	for i := range entries {
		if entries[i].Unknown != "" {
			return true
		}
	}
	return false
}
