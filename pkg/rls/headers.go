package rls

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// HeaderOptions say which headers an answer brings for the client.
type HeaderOptions struct {
	// RateLimit adds limit, remaining and reset (seconds) under the names below.
	RateLimit bool
	// XRateLimit adds X-RateLimit-Limit, -Remaining and -Reset (a Unix time).
	XRateLimit bool
	// Rule adds X-RateLimit-Rule: for the client the limit that decided; for the
	// application, on calls let through, the shadow limits that would not have.
	Rule bool

	Limit, Remaining, Reset string // names; "" = RateLimit-Limit and so on
}

func (h HeaderOptions) filled() HeaderOptions {
	h.Limit = cmp.Or(h.Limit, "RateLimit-Limit")
	h.Remaining = cmp.Or(h.Remaining, "RateLimit-Remaining")
	h.Reset = cmp.Or(h.Reset, "RateLimit-Reset")
	return h
}

func (h *HeaderOptions) any() bool { return h.RateLimit || h.XRateLimit || h.Rule }

// addHeaders adds the headers that the options ask for, from the limit that
// speaks for the call.
func (d *decision) addHeaders(ans *Answer) {
	h := &d.limiter.opt.Headers
	if !h.any() {
		return
	}
	if d.best != nil {
		d.addLimitHeaders(ans, h)
	}
	if h.Rule && !d.denied {
		if labels := d.wouldHaveDenied(); len(labels) > 0 {
			for i := range labels {
				labels[i] = headerText(labels[i])
			}
			ans.RequestHeaders = append(ans.RequestHeaders, Header{ruleHeader, strings.Join(labels, ", ")})
		}
	}
}

const ruleHeader = "X-RateLimit-Rule"

func (d *decision) addLimitHeaders(ans *Answer, h *HeaderOptions) {
	p := d.best
	limit := strconv.FormatUint(uint64(p.limit.Amount), 10)
	remaining := strconv.FormatUint(d.remaining(p), 10)
	seconds := strconv.FormatInt(wholeSeconds(p.verdict), 10)
	add := func(name, value string) { ans.ResponseHeaders = append(ans.ResponseHeaders, Header{name, value}) }
	if h.RateLimit {
		add(h.Limit, limit)
		add(h.Remaining, remaining)
		add(h.Reset, seconds)
	}
	if h.XRateLimit {
		at := roundUp(d.limiter.opt.Now().UnixMicro() + p.verdict.ResetMicros)
		add("X-RateLimit-Limit", limit)
		add("X-RateLimit-Remaining", remaining)
		add("X-RateLimit-Reset", strconv.FormatInt(at, 10))
	}
	if h.Rule {
		add(ruleHeader, headerText(p.limit.Label))
	}
	if d.denied {
		add("Retry-After", seconds)
	}
}

// wouldHaveDenied lists the labels of the shadow limits that were over, sorted.
func (d *decision) wouldHaveDenied() []string {
	var labels []string
	for i := range d.picks {
		p := &d.picks[i]
		if p.role == buckets.Shadow && !p.verdict.Allowed {
			labels = append(labels, p.limit.Label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// headerText makes text fit for a header's value: visible ASCII without the
// signs that would make it a list, a parameter or a quoted string.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'`,;\\", r) {
			return '_'
		}
		return r
	}, s)
}
