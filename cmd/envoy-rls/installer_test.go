package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// compile makes a load of one file after another load.
func compile(t *testing.T, before descriptors.Load, text string) descriptors.Load {
	t.Helper()
	files := []descriptors.File{{Name: "shop.yaml", Data: []byte(text)}}
	rules, problems := descriptors.Compile(files, before.Ruleset, descriptors.Options{})
	return descriptors.Load{Ruleset: rules, Generation: before.Generation + 1, Diagnostics: problems, Files: 1}
}

type installed struct {
	installer
	rules []*descriptors.Ruleset
	text  bytes.Buffer
}

func newInstalled() *installed {
	n := &installed{}
	n.installer = installer{
		install: func(rs *descriptors.Ruleset) { n.rules = append(n.rules, rs) },
		health:  lifecycle.NewHealth(lifecycle.Policy{}, func(bool) {}),
		metrics: telemetry.New(telemetry.Build{}),
		log:     telemetry.NewLog(&n.text, "text", slog.LevelInfo),
	}
	n.health.SetStore(nil)
	return n
}

func (n *installed) logged(part string) int { return strings.Count(n.text.String(), part) }

// A load goes into force once; what it says again is not logged again.
func TestInstallerRepeatsNothing(t *testing.T) {
	t.Parallel()
	n := newInstalled()
	bad := compile(t, descriptors.Load{}, "domain: shop\ndescriptors: [{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}]\n")
	n.apply(bad)
	n.apply(bad)
	if len(n.rules) != 1 {
		t.Errorf("installed %d times, want once", len(n.rules))
	}
	if got := n.logged("unknown unit"); got != 1 {
		t.Errorf("the problem was logged %d times:\n%s", got, &n.text)
	}
	if got := n.logged("rules loaded"); got != 1 || n.logged("the rules in force stay") != 1 {
		t.Errorf("the log:\n%s", &n.text)
	}
	if r := n.health.Report(); r.Ready || !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, `"shop"`) }) {
		t.Errorf("health: %+v", r)
	}

	good := compile(t, bad, limitTo("shop", 1))
	n.apply(good)
	n.apply(compile(t, good, "domain: shop\ndescriptors: [{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}]\n"))
	if got := n.logged("unknown unit"); got != 2 {
		t.Errorf("a problem that came back was logged %d times in all, want 2", got)
	}
	if r := n.health.Report(); !r.Ready || !strings.Contains(strings.Join(r.Problems, ""), "last good") {
		t.Errorf("health: %+v", r)
	}
}

func TestInstallerWithoutRules(t *testing.T) {
	t.Parallel()
	n := newInstalled()
	n.apply(descriptors.Load{Held: []descriptors.Hold{{Path: "config", Reason: "no such file or folder"}}})
	n.apply(descriptors.Load{Refused: true, Files: 1})
	if len(n.rules) != 0 {
		t.Error("nothing was installed as rules")
	}
	if r := n.health.Report(); r.Ready || !strings.Contains(strings.Join(r.Problems, ""), "RULES_STRICT") {
		t.Errorf("health: %+v", r)
	}
	if n.logged("config: no such file or folder") != 1 || n.logged("there are no rules yet") != 2 {
		t.Errorf("the log:\n%s", &n.text)
	}
}

// Only an enforced limit with the policy error needs the store to be ready.
func TestNeedsStore(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]bool{
		"rate_limit: {unit: day, requests_per_unit: 1}":                        true,
		"rate_limit: {unit: day, requests_per_unit: 1, on_store_error: allow}": false,
		"rate_limit: {unit: day, requests_per_unit: 1, on_store_error: local}": false,
		"rate_limit: {unit: day, requests_per_unit: 0}":                        false,
		"rate_limit: {unlimited: true}":                                        false,
		"shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}":     false,
	} {
		load := compile(t, descriptors.Load{}, "domain: shop\ndescriptors: [{key: a, "+rule+"}]\n")
		if got := rulesHealth(&load).NeedStore; got != want {
			t.Errorf("%s: needs the store %v, want %v", rule, got, want)
		}
	}
}

// What the limiter counts arrives under the names of rules, and what a reload
// removes is gone.
func TestDecisionMetrics(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Options{})
	defer store.Close()
	metrics := telemetry.New(telemetry.Build{})
	limiter := rls.NewLimiter(rls.Options{Store: store, Metrics: decisionMetrics{metrics, false}})
	const text = `
domain: shop
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 1, name: per-user}}
  - {key: ip, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}
`
	first := compile(t, descriptors.Load{}, text)
	limiter.Install(first.Ruleset)
	ask := func(domain, key string) {
		req := rls.Request{Domain: domain}
		req.AddDescriptor().Entries = []buckets.Entry{{Key: key, Value: "v"}}
		if err := limiter.Decide(context.Background(), &req, &rls.Answer{}); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		ask("shop", "user")
	}
	ask("shop", "ip")
	ask("shop", "other")
	ask("unknown-domain-of-a-caller", "user")
	for series, want := range map[string]float64{
		`envoy_rls_decisions_total{domain="shop",rule="per-user",code="ok",shadow="false"}`:           1,
		`envoy_rls_decisions_total{domain="shop",rule="per-user",code="over_limit",shadow="false"}`:   1,
		`envoy_rls_decisions_by_value_total{domain="shop",rule="shop/ip",code="ok",value="ip=v"}`:     1,
		`envoy_rls_unmatched_total{domain="shop",reason="key"}`:                                       1,
		`envoy_rls_unmatched_total{domain="",reason="domain"}`:                                        1,
		`envoy_rls_hits_total{domain="shop",rule="per-user"}`:                                         2,
		`envoy_rls_decisions_total{domain="shop",rule="override",code="over_limit",shadow="false"}`:   0,
		`envoy_rls_decisions_by_value_total{domain="shop",rule="shop/ip",code="over_limit",value=""}`: -1,
	} {
		if got := seriesValue(t, metrics, series); got != want {
			t.Errorf("%s is %v, want %v (-1 = not there)", series, got, want)
		}
	}
	limiter.Install(compile(t, first, text+"# changed\n").Ruleset)
	if got := seriesValue(t, metrics, `envoy_rls_hits_total{domain="shop",rule="per-user"}`); got != 2 {
		t.Errorf("a reload changed what a rule that stays has counted: %v, want 2", got)
	}
	limiter.Install(compile(t, first, limitTo("cart", 1)).Ruleset)
	if got := seriesValue(t, metrics, `envoy_rls_hits_total{domain="shop",rule="per-user"}`); got != -1 {
		t.Errorf("the series of a rule that is gone is still there: %v", got)
	}
	if got := seriesValue(t, metrics, `envoy_rls_hits_total{domain="cart",rule="cart/user"}`); got != 0 {
		t.Errorf("the series of a new rule: %v", got)
	}
}

// seriesValue is the value of a counter, written name{label="value",…} in any
// order of labels; -1 if it is not there.
func seriesValue(t *testing.T, m *telemetry.Metrics, series string) float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			matching := f.GetName() == name
			for _, l := range metric.GetLabel() {
				matching = matching && strings.Contains(labels, l.GetName()+`="`+l.GetValue()+`"`)
			}
			if matching {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func TestProfileRatelimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags string
		want  descriptors.Options
	}{
		{"--profile=native", descriptors.Options{Algorithm: buckets.TokenBucket}},
		{"--profile=native --stop-cache-key-increment-when-overlimit", descriptors.Options{Algorithm: buckets.TokenBucket, DeniedHits: descriptors.DeniedFree}},
		{"--profile=ratelimit --stop-cache-key-increment-when-overlimit", descriptors.Options{Algorithm: buckets.FixedWindow, DeniedHits: descriptors.DeniedFree, Unbounded: true}},
		{"--profile=ratelimit", descriptors.Options{Algorithm: buckets.FixedWindow, DeniedHits: descriptors.DeniedCharged, Unbounded: true}},
	} {
		s, _, err := settings.Load(settings.Input{Args: strings.Fields(tt.flags), Exists: func(string) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		if got := ruleOptions(s); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.flags, got, tt.want)
		}
	}
}
