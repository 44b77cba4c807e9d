package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// METRICS_COMPAT under PROFILE=ratelimit: what calls add to the metrics of
// envoyproxy/ratelimit.
func TestReferenceMetrics(t *testing.T) {
	t.Parallel()
	const rules = `
domain: d
descriptors:
- {key: ten, rate_limit: {unit: hour, requests_per_unit: 10, name: named}}
- {key: ip, value: 10.1.2.3, descriptors: [{key: path, value: /a*, descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 10}}]}]}
- {key: shadow, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: detail, detailed_metric: true, rate_limit: {unit: hour, requests_per_unit: 10}}
- {key: free, rate_limit: {unlimited: true}}
`
	e := func(pairs ...string) rls.Descriptor {
		var d rls.Descriptor
		for i := 0; i < len(pairs); i += 2 {
			d.Entries = append(d.Entries, descriptors.Entry{Key: pairs[i], Value: pairs[i+1]})
		}
		return d
	}
	type call struct {
		hits uint32
		ask  rls.Descriptor
	}
	tests := []struct {
		name  string
		calls []call
		want  []string
	}{
		{"within, then near: what is above 8 of 10", []call{{7, e("ten", "x")}, {3, e("ten", "x")}}, []string{
			`near_limit{domain="d",key1="ten",key2=""} 2`,
			`total_hits{domain="d",key1="ten",key2=""} 10`,
			`within_limit{domain="d",key1="ten",key2=""} 10`,
		}},
		{"over: all hits of the call", []call{{10, e("ten", "x")}, {1, e("ten", "x")}, {4, e("ten", "x")}}, []string{
			`near_limit{domain="d",key1="ten",key2=""} 2`,
			`over_limit{domain="d",key1="ten",key2=""} 5`,
			`total_hits{domain="d",key1="ten",key2=""} 15`,
			`within_limit{domain="d",key1="ten",key2=""} 10`,
		}},
		{"values of rules, and two levels", []call{{1, e("ip", "10.1.2.3", "path", "/abc", "user", "secret")}}, []string{
			`total_hits{domain="d",key1="ip_10_1_2_3",key2="path_/a*"} 1`,
			`within_limit{domain="d",key1="ip_10_1_2_3",key2="path_/a*"} 1`,
		}},
		{"shadow", []call{{1, e("shadow", "x")}, {1, e("shadow", "x")}}, []string{
			`near_limit{domain="d",key1="shadow",key2=""} 1`,
			`over_limit{domain="d",key1="shadow",key2=""} 1`,
			`shadow_mode{domain="d",key1="shadow",key2=""} 1`,
			`total_hits{domain="d",key1="shadow",key2=""} 2`,
			`within_limit{domain="d",key1="shadow",key2=""} 1`,
		}},
		{"detailed_metric stays under the rule", []call{{1, e("detail", "a")}, {1, e("detail", "b")}}, []string{
			`total_hits{domain="d",key1="detail",key2=""} 2`,
			`within_limit{domain="d",key1="detail",key2=""} 2`,
		}},
		{"unlimited and unmatched count nothing", []call{{1, e("free", "x")}, {1, e("none", "x")}}, nil},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, problems := descriptors.Compile([]descriptors.File{{Name: "d.yaml", Data: []byte(rules)}}, nil,
				descriptors.Options{Algorithm: buckets.FixedWindow, DeniedHits: descriptors.DeniedCharged, Unbounded: true})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			m := telemetry.New(telemetry.Build{})
			m.ExportReference()
			store := memstore.New(memstore.Options{})
			defer store.Close()
			limiter := rls.NewLimiter(rls.Options{Store: store, Reference: true, Metrics: decisionMetrics{metrics: m},
				Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
			limiter.Install(set)
			for _, call := range c.calls {
				var ans rls.Answer
				req := rls.Request{Domain: "d", HitsAddend: call.hits, Descriptors: []rls.Descriptor{call.ask}}
				if err := limiter.Decide(context.Background(), &req, &ans); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, referenceSeries(m)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// referenceSeries are the series of rules that are not 0, less what their names
// have in common.
func referenceSeries(m *telemetry.Metrics) []string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "ratelimit_service_rate_limit_"); ok && !strings.HasSuffix(name, " 0") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	return got
}

// A call that the store could not decide is a redis_error, any other failure a
// service_error.
func TestReferenceErrors(t *testing.T) {
	t.Parallel()
	m := telemetry.New(telemetry.Build{})
	m.ExportReference()
	fail := func(err error) {
		d := countedDecider{failing{err}, m}
		if got := d.Decide(context.Background(), &rls.Request{}, &rls.Answer{}); got != err {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	fail(nil)
	fail(&rls.Error{Kind: rls.Unavailable, Text: "no store", Err: &buckets.StoreError{Kind: buckets.KindTimeout}})
	fail(&rls.Error{Kind: rls.Unavailable, Text: "no rules"})
	fail(&rls.Error{Kind: rls.Invalid, Text: "no domain"})
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`{err_type="redis_error"} 1`, `{err_type="service_error"} 2`} {
		if !strings.Contains(w.Body.String(), "ratelimit_service_should_rate_limit_error"+want) {
			t.Errorf("there is no %s", want)
		}
	}
}

type failing struct{ err error }

func (f failing) Decide(context.Context, *rls.Request, *rls.Answer) error { return f.err }
