package rls_test

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// recorder is a Metrics that keeps everything by a readable name.
type recorder struct {
	mu     sync.Mutex
	counts map[string]float64
	fell   bool // a counter went down
	timed  map[string]int
	kept   []string // the hashes of retained rulesets
}

func newRecorder() *recorder {
	return &recorder{counts: map[string]float64{}, timed: map[string]int{}}
}

type recorded struct {
	to   *recorder
	name string
}

func (c recorded) Add(n float64) {
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.counts[c.name] += n
	c.to.fell = c.to.fell || n < 0
}

func (r *recorder) Limit(domain string, l *descriptors.Limit, shadow bool) rls.LimitMetrics {
	name := domain + " " + l.Label
	if shadow {
		name += " shadow"
	}
	m := rls.LimitMetrics{
		OK:        recorded{r, name + " ok"},
		Over:      recorded{r, name + " over"},
		Hits:      recorded{r, name + " hits"},
		NearLimit: recorded{r, name + " near"},
	}
	if l.Rule != nil && (l.Rule.DetailedMetric || l.Rule.ValueToMetric != nil) {
		m.Value = func(value string, over bool) {
			recorded{r, fmt.Sprintf("%s value %s over=%v", name, value, over)}.Add(1)
		}
	}
	return m
}

func (r *recorder) Domain(name string) rls.DomainMetrics {
	d := rls.DomainMetrics{
		Duration: func(time.Duration) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.timed[name]++
		},
		Unlimited: recorded{r, name + " unlimited"},
		Unknown:   recorded{r, name + " unknown domain"},
		Policy: func(p descriptors.StorePolicy, reason string) {
			recorded{r, fmt.Sprintf("%s policy %s %s", name, p, reason)}.Add(1)
		},
	}
	for i := range d.Unmatched {
		d.Unmatched[i] = recorded{r, fmt.Sprintf("%s unmatched %s", name, descriptors.Reason(i))}
	}
	return d
}

func (r *recorder) Retain(rs *descriptors.Ruleset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, rs.Hash)
}

// take lists what was counted, sorted, and begins anew.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for name, n := range r.counts {
		lines = append(lines, fmt.Sprintf("%s %v", name, n))
	}
	sort.Strings(lines)
	clear(r.counts)
	return lines
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	const text = `
domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10, name: a}}
- {key: s, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: q, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: zero, rate_limit: {unit: minute, requests_per_unit: 0, name: zero}}
- {key: free, rate_limit: {unlimited: true}}
- {key: white, value: x}
- {key: allow, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: allow}}
- {key: deny, rate_limit: {unit: minute, requests_per_unit: 9, on_store_error: deny}}
- {key: local, rate_limit: {unit: minute, requests_per_unit: 100, on_store_error: local}}
- {key: detail, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 1}, descriptors: [{key: more, rate_limit: {unit: minute, requests_per_unit: 9}}]}
- key: path
  value: /a/*
  share_threshold: true
  value_to_metric: true
  descriptors:
  - key: user
    value_to_metric: true
    descriptors:
    - {key: token, sensitive: true, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 9, name: v}}
    - {key: other, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 9, name: w}}
`
	tests := []struct {
		name  string
		lines string
		want  []string
	}{
		{"allowed and over, and what is near", "[a=1] hits=7; [a=1] hits=2; [a=1]{hits=0}; [a=1]; [a=1]", []string{
			"d a hits 11", "d a near 2", "d a ok 4", "d a over 1",
		}},
		{"refunds are no hits", "[a=2]{refund}", []string{"d a ok 1"}},
		{"uncharged hits are not near", "[a=3] hits=10; [a=4] hits=9; [zero=1] [a=4]", []string{
			"d a hits 20", "d a near 3", "d a ok 3", "d zero hits 1", "d zero over 1",
		}},
		{"costs are cut", "[a=5]{hits=18446744073709551615}", []string{"d a hits 21", "d a over 1"}},
		{"shadow and quota", "[s=1] [q=1]; [s=1] [q=1]", []string{
			"d d/q hits 2", "d d/q near 1", "d d/q ok 1", "d d/q over 1",
			"d d/s shadow hits 2", "d d/s shadow near 1", "d d/s shadow ok 1", "d d/s shadow over 1",
		}},
		{"by reason", "[none=1] [white=y] [white=x] [a=1,b=1]; [free=1] [free=2]; []", []string{
			"d unlimited 2", "d unmatched depth 1", "d unmatched key 1", "d unmatched short 1", "d unmatched value 1", "d unmatched whitelisted 1",
		}},
		{"unknown domains", "domain=x [a=1] [b=1]; domain=y [a=1]", []string{" unknown domain 3"}},
		{"overrides have the rule's metrics, else one label", "[a=6]{limit=3/day}; [none=1]{limit=3/day}; [none=2]{limit=1/hour}", []string{
			"d a hits 1", "d a ok 1", "d override hits 2", "d override near 1", "d override ok 2",
		}},
		{"also where the rule has no amount", "[free=1]{limit=3/day}; [white=x]{limit=3/day}", []string{
			"d d/free hits 1", "d d/free ok 1", "d override hits 1", "d override ok 1",
		}},
		{"detailed_metric", "[detail=x]; [detail=x]; [detail=y]{limit=2/day}; [detail=x,more=1]", []string{
			"d d/detail hits 3", "d d/detail near 1", "d d/detail ok 2", "d d/detail over 1",
			"d d/detail value detail=x over=false 1", "d d/detail value detail=x over=true 1", "d d/detail value detail=y over=false 1",
			"d d/detail/more hits 1", "d d/detail/more ok 1",
		}},
		{"value_to_metric: shared values as the pattern, sensitive ones hashed", "[path=/a/1,user=ann,token=s3cret]; [path=/a/2,user=,other=z]", []string{
			"d v hits 1", "d v ok 1", "d v value /a/*,ann,#b517fb51459d30f879abf41d855ed7bc over=false 1",
			"d w hits 1", "d w ok 1", "d w value path=/a/*,user=,other=z over=false 1",
		}},
		{"store policies", "FAIL; [allow=1] [allow=2]; [deny=1] [s=9]; [local=1] hits=90; [a=7]; [a=7] [deny=1]; [a=7]{refund}; [s=9]", []string{
			"d d/deny over 2", "d d/deny hits 2",
			"d d/local hits 90", "d d/local near 10", "d d/local ok 1",
			"d policy allow timeout 1", "d policy deny timeout 2", "d policy error timeout 2", "d policy local timeout 1",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRecorder()
			w := newWorld(t, text, func(o *rls.Options, _ *descriptors.Options) { o.Metrics = r })
			for line := range strings.SplitSeq(test.lines, ";") {
				if line == "FAIL" {
					w.fails.fail(buckets.KindTimeout)
					continue
				}
				w.call(line)
			}
			sort.Strings(test.want)
			if diff := cmp.Diff(test.want, r.take()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if r.fell {
				t.Error("a counter went down")
			}
		})
	}
}

// TestMetricsOfDecisions: each decision is timed once, in its domain; handles
// are made at Install and never while deciding.
func TestMetricsOfDecisions(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]\n",
		func(o *rls.Options, _ *descriptors.Options) { o.Metrics = r })
	w.call("[a=1]")
	w.call("[a=1]")
	w.call("[none=1]")
	w.call("[a=1]{limit=1/99}") // no decision
	if got := r.timed["d"]; got != 3 {
		t.Errorf("%d decisions were timed, want 3", got)
	}
	w.Install(w.compile("domain: e\ndescriptors: []\n"))
	if len(r.kept) != 2 || r.kept[1] != w.Ruleset().Hash {
		t.Errorf("retained %v, in force %s", r.kept, w.Ruleset().Hash)
	}
}

// TestShadowModeMetrics: under SHADOW_MODE every limit is labelled as one.
func TestShadowModeMetrics(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1, name: a}}]\n",
		func(o *rls.Options, _ *descriptors.Options) { o.Metrics, o.Shadow = r, true })
	w.call("[a=1] [none=1]{limit=0/day}")
	want := []string{"d a shadow hits 1", "d a shadow near 1", "d a shadow ok 1", "d override shadow hits 1", "d override shadow over 1"}
	if diff := cmp.Diff(want, r.take()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
