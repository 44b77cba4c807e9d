package telemetry

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// filled has every series that there can be, once.
func filled(t *testing.T) *Metrics {
	t.Helper()
	m := New(Build{Version: "v1", Revision: "abc", Go: "go1"})
	for _, shadow := range []bool{false, true} {
		l := m.Limit("shop", "per-ip", shadow)
		l.OK.Add(2)
		l.Over.Inc()
		l.Hits.Add(3)
		l.NearLimit.Inc()
		l.CountValue("10.0.0.1", shadow)
	}
	ObserveDuration(m.DecisionDuration("shop"), 3*time.Millisecond)
	m.Unmatched("", "domain").Add(1)
	m.Policy("shop", "allow", "timeout").Add(1)
	m.ObserveGRPC("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "OK", time.Millisecond)
	m.CountPanic()
	m.SetReady(true)
	ObserveDuration(m.StoreDuration("redis", "decide"), time.Millisecond)
	m.CountStoreError("redis", "timeout")
	m.WatchMemory(func() MemoryStats { return MemoryStats{Buckets: 4, Evictions: 1} })
	m.WatchRedis("redis", func() RedisStats {
		return RedisStats{Connections: 5, Busy: 2, Queued: 7, Servers: 3, NotAsked: 1, Dials: 6, ScriptReloads: 1, Foreign: 3, BreakerOpens: 2}
	})
	m.WatchRedis("redis_per_second", func() RedisStats { return RedisStats{Connections: 2, Servers: 1} })
	m.WatchGiveBacks("redis", func() GiveBacks { return GiveBacks{8, 1} })
	m.WatchGiveBacks(BothStores, func() GiveBacks { return GiveBacks{4, 0} })
	m.SetReload(Reload{At: time.Unix(1000, 0), Result: ReloadSuccess, Hash: "beef", Rules: map[string]int{"shop": 2}, Rejected: []string{"cart"}})
	return m
}

// scrape is what Prometheus reads, less what the Go and process collectors say.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("scrape: %d %v\n%s", w.Code, err, body)
	}
	var ours []string
	for line := range strings.Lines(string(body)) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, namespace) {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "")
}

// M3: what /metrics serves is written down, names, labels and help.
func TestM3_Golden(t *testing.T) {
	t.Parallel()
	const file = "testdata/metrics.txt"
	got := scrape(t, filled(t))
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), rewrite with -rewrite:\n%s", file, diff)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(filled(t).Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// A scraper that knows native histograms gets them, any other classic ones.
func TestHistogramsAreBoth(t *testing.T) {
	t.Parallel()
	families, err := filled(t).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace) || f.GetMetric()[0].GetHistogram() == nil {
			continue
		}
		seen++
		h := f.GetMetric()[0].GetHistogram()
		if len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
			t.Errorf("%s: %d classic buckets, %d native spans", f.GetName(), len(h.GetBucket()), len(h.GetPositiveSpan()))
		}
	}
	if seen != 3 {
		t.Errorf("%d histograms, want 3", seen)
	}
}

func seriesWith(t *testing.T, m *Metrics, part string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(scrape(t, m)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// keep retains the limits of these labels, and their domains.
func keep(m *Metrics, domain string, shadow bool, rules ...string) {
	m.Retain(
		func(d, rule string, s bool) bool { return d == domain && s == shadow && slices.Contains(rules, rule) },
		func(d string) bool { return d == domain })
}

// L9: series of rules that a reload removed are gone; those of rules that stay
// go on counting.
func TestL9_VanishedRules(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	stays, goes := m.Limit("shop", "stays", false), m.Limit("shop", "goes", false)
	gone := m.Limit("cart", "goes", false)
	for _, l := range []*Limit{stays, goes, gone} {
		l.Hits.Inc()
		l.CountValue("v", false)
	}
	m.Unmatched("cart", "key").Add(1)
	m.Policy("cart", "allow", "timeout").Add(1)
	ObserveDuration(m.DecisionDuration("cart"), time.Second)

	if again := m.Limit("shop", "stays", false); again != stays {
		t.Error("a limit that stays got new handles")
	}
	keep(m, "shop", false, "stays")
	goes.Over.Inc() // a call that began before the reload
	goes.CountValue("v", true)
	goes.CountValue("later", true)
	stays.Hits.Inc()
	for part, want := range map[string]int{
		`rule="goes"`:   0,
		`domain="cart"`: 0,
		`envoy_rls_hits_total{domain="shop",rule="stays"} 2`:                                   1,
		`envoy_rls_decisions_by_value_total{code="ok",domain="shop",rule="stays",value="v"} 1`: 1,
	} {
		if got := seriesWith(t, m, part); got != want {
			t.Errorf("%d series with %s, want %d", got, part, want)
		}
	}
	if m.values != 1 {
		t.Errorf("%d values are counted, want 1", m.values)
	}
}

// The gauge of policies is 1 as long as one decided of late.
func TestPolicyDeciding(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	deciding := func(want string) {
		t.Helper()
		if seriesWith(t, m, "envoy_rls_policy_deciding "+want) != 1 {
			t.Errorf("policy_deciding is not %s", want)
		}
	}
	deciding("0")
	m.Policy("shop", "deny", "timeout").Add(1)
	deciding("1")
	m.policyAt.Store(time.Now().Add(-policyLingers).UnixNano())
	deciding("0")
}

// A rule that becomes a shadow rule keeps its hits and loses its old verdicts.
func TestShadowChanges(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	m.Limit("shop", "r", false).Hits.Inc()
	m.Limit("shop", "r", true).Hits.Inc()
	keep(m, "shop", true, "r")
	if n := seriesWith(t, m, `shadow="false"`); n != 0 {
		t.Errorf("%d series of the enforced rule are left", n)
	}
	if n := seriesWith(t, m, `envoy_rls_hits_total{domain="shop",rule="r"} 2`); n != 1 {
		t.Error("hits did not go on")
	}
}

func (m *Metrics) valueCount(name limitName, value, code string) float64 {
	return testutil.ToFloat64(m.byValue.WithLabelValues(name.domain, name.rule, code, value))
}

// M1: ever new values make no more series than the cap allows; the rest is
// counted together.
func TestM1_ValuesAreCapped(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	a, b := m.Limit("shop", "a", false), m.Limit("shop", "b", false)
	const calls = 200_000
	for i := range calls {
		a.CountValue(fmt.Sprint(i), false)
	}
	a.CountValue("7", true)
	b.CountValue("late", false)
	if n := testutil.CollectAndCount(m.byValue); n != 2*(MaxValues+2) {
		t.Errorf("%d series, want 2 for each of %d values and of 2 others", n, MaxValues)
	}
	if got := m.valueCount(a.name, OtherValue, codeOK); got != calls-MaxValues {
		t.Errorf("%v are counted together, want %d", got, calls-MaxValues)
	}
	if got := m.valueCount(a.name, "7", codeOver); got != 1 {
		t.Error("a value from before the cap lost its series")
	}
}

func TestOddValues(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	l := m.Limit("shop", "a", false)
	long := strings.Repeat("x", maxValueBytes+1)
	l.CountValue(long, false)
	l.CountValue(long+"y", false)
	l.CountValue("short", false)
	l.CountValue("caf\xff\x00é", false)
	for value, want := range map[string]float64{OtherValue: 2, "short": 1, "caf\\xff\x00é": 1} {
		if got := m.valueCount(l.name, value, codeOK); got != want {
			t.Errorf("%q is counted %v times, want %v", value, got, want)
		}
	}
	if m.values != 2 {
		t.Errorf("%d values, want 2", m.values)
	}
}

// M8: the state of the rules is seen from outside.
func TestM8_ReloadIsSeen(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	m.SetReload(Reload{At: time.Unix(1000, 0), Result: ReloadSuccess, Hash: "one", Rules: map[string]int{"a": 1, "b": 2}})
	m.SetReload(Reload{At: time.Unix(2000, 0), Result: ReloadPartial, Hash: "two", Rules: map[string]int{"a": 1}, Rejected: []string{"b"}})
	var got []string
	for line := range strings.Lines(scrape(t, m)) {
		if strings.HasPrefix(line, "envoy_rls_config_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`envoy_rls_config_info{hash="two"} 1`,
		`envoy_rls_config_last_reload_success_timestamp_seconds 1000`,
		`envoy_rls_config_last_reload_successful 0`,
		`envoy_rls_config_rejected{domain="b"} 1`,
		`envoy_rls_config_reloads_total{result="failure"} 0`,
		`envoy_rls_config_reloads_total{result="partial"} 1`,
		`envoy_rls_config_reloads_total{result="success"} 1`,
		`envoy_rls_config_rules{domain="a"} 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// The way of a call makes no garbage.
func TestCountingDoesNotAllocate(t *testing.T) {
	m := New(Build{})
	l := m.Limit("shop", "a", false)
	took := m.DecisionDuration("shop")
	l.CountValue("known", false)
	if n := testing.AllocsPerRun(100, func() {
		l.Hits.Add(1)
		l.OK.Inc()
		l.CountValue("known", true)
		ObserveDuration(took, time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
