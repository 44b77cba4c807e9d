package rls

import "github.com/envoy-rls/envoy-rls/pkg/descriptors"

// rules are a ruleset with the metrics of its limits and domains, made when it
// is installed.
type rules struct {
	set     *descriptors.Ruleset
	limits  []LimitMetrics // by Limit.Index
	domains map[string]*domainHandles
	unknown *domainHandles
}

type domainHandles struct {
	DomainMetrics
	override LimitMetrics // of overrides where no rule matches
}

func newRules(set *descriptors.Ruleset, opt *Options) *rules {
	r := &rules{
		set:     set,
		limits:  make([]LimitMetrics, len(set.Limits())),
		domains: make(map[string]*domainHandles),
		unknown: &domainHandles{DomainMetrics: opt.Metrics.Domain("")},
	}
	opt.Metrics.Retain(set)
	limit := func(domain string, l *descriptors.Limit) LimitMetrics {
		return opt.Metrics.Limit(domain, l, l.Shadow || opt.Shadow)
	}
	for i, l := range set.Limits() {
		r.limits[i] = limit(l.Rule.Domain, l)
	}
	for _, d := range set.Domains() {
		r.domains[d.Name] = &domainHandles{
			DomainMetrics: opt.Metrics.Domain(d.Name),
			override:      limit(d.Name, set.DefaultLimit(d)),
		}
	}
	return r
}
