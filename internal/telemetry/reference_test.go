package telemetry

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// newReference makes metrics of both families.
func newReference() *Metrics {
	m := New(Build{})
	m.ExportReference()
	return m
}

// referenceSeries are the series of rules, by what is behind their common name,
// less those at 0.
func referenceSeries(t *testing.T, m *Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "ratelimit_service_rate_limit_"); ok && !strings.HasSuffix(name, " 0") {
			got = append(got, name)
		}
	}
	return got
}

// Each row is a meaning that envoyproxy/ratelimit documents.
func TestReferenceTally(t *testing.T) {
	t.Parallel()
	type decision struct {
		hits, near uint64
		over       bool
	}
	tests := []struct {
		name      string
		levels    []string
		shadow    bool
		decisions []decision
		want      []string
	}{
		{"hits, not calls", []string{"plan"}, false, []decision{{3, 0, false}, {4, 2, false}}, []string{
			`near_limit{domain="d",key1="plan",key2=""} 2`,
			`total_hits{domain="d",key1="plan",key2=""} 7`,
			`within_limit{domain="d",key1="plan",key2=""} 7`,
		}},
		{"what is over is not within", []string{"plan_free", "user"}, false, []decision{{2, 0, true}, {1, 0, false}}, []string{
			`over_limit{domain="d",key1="plan_free",key2="user"} 2`,
			`total_hits{domain="d",key1="plan_free",key2="user"} 3`,
			`within_limit{domain="d",key1="plan_free",key2="user"} 1`,
		}},
		{"shadow rules count both", []string{"a"}, true, []decision{{2, 0, true}}, []string{
			`over_limit{domain="d",key1="a",key2=""} 2`,
			`shadow_mode{domain="d",key1="a",key2=""} 2`,
			`total_hits{domain="d",key1="a",key2=""} 2`,
		}},
		{"a look counts nothing", []string{"a"}, false, []decision{{0, 0, true}, {0, 0, false}}, nil},
		{"the third level does not tell", []string{"a", "b", "c"}, false, []decision{{1, 0, false}}, []string{
			`total_hits{domain="d",key1="a",key2="b"} 1`,
			`within_limit{domain="d",key1="a",key2="b"} 1`,
		}},
		{"as statsd names it", []string{"ip_10.0.0.0/8", "a:b|c.d"}, false, []decision{{1, 0, false}}, []string{
			`total_hits{domain="d",key1="ip_10_0_0_0/8",key2="a_b_c.d"} 1`,
			`within_limit{domain="d",key1="ip_10_0_0_0/8",key2="a_b_c.d"} 1`,
		}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newReference()
			count := m.ReferenceTally(m.Limit("d", "r", c.shadow), c.levels, c.shadow)
			for _, d := range c.decisions {
				count(d.hits, d.near, d.over)
			}
			if diff := cmp.Diff(c.want, referenceSeries(t, m)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Limits of one name share its series, which goes with the last of them.
func TestReferenceSeriesEnd(t *testing.T) {
	t.Parallel()
	m := newReference()
	tally := func(rule string, levels ...string) {
		m.ReferenceTally(m.Limit("d", rule, false), levels, false)(1, 0, false)
	}
	has := func(key2 string, want int) {
		t.Helper()
		if n := testutil.CollectAndCount(m.reference.totalHits); n != want {
			t.Errorf("%d series after %s, want %d", n, key2, want)
		}
	}
	tally("one", "a", "b", "c")
	tally("two", "a", "b", "d")
	tally("two", "a", "b", "d") // a reload that changes nothing
	has("making", 1)
	keep(m, "d", false, "two")
	has("one of two is gone", 1)
	tally("two", "moved")
	has("the other moved", 1)
	keep(m, "d", false)
	has("all are gone", 0)
}

func TestReferenceCalls(t *testing.T) {
	t.Parallel()
	m := newReference()
	m.Method("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", []string{"OK"}).Observe(0, time.Millisecond)
	m.ObserveGRPC("/grpc.health.v1.Health/Check", "OK", time.Millisecond)
	m.ObserveGRPC("", "UNIMPLEMENTED", time.Millisecond)
	m.CountReferenceError(true)
	m.CountReferenceError(false)
	m.CountReferenceError(false)
	m.SetReload(Reload{Result: ReloadSuccess})
	m.SetReload(Reload{Result: ReloadPartial})
	m.SetReload(Reload{Result: ReloadFailure})
	const want = `
# HELP ratelimit_service_config_load_error METRICS_COMPAT: loads of changed rules with an error.
# TYPE ratelimit_service_config_load_error counter
ratelimit_service_config_load_error 2
# HELP ratelimit_service_config_load_success METRICS_COMPAT: loads of changed rules without an error.
# TYPE ratelimit_service_config_load_success counter
ratelimit_service_config_load_success 1
# HELP ratelimit_service_should_rate_limit_error METRICS_COMPAT: calls that could not be decided: redis_error (the store) or service_error (anything else).
# TYPE ratelimit_service_should_rate_limit_error counter
ratelimit_service_should_rate_limit_error{err_type="redis_error"} 1
ratelimit_service_should_rate_limit_error{err_type="service_error"} 2
# HELP ratelimit_service_total_requests METRICS_COMPAT: gRPC calls.
# TYPE ratelimit_service_total_requests counter
ratelimit_service_total_requests{grpc_method="Check"} 1
ratelimit_service_total_requests{grpc_method="ShouldRateLimit"} 1
`
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(want),
		"ratelimit_service_config_load_error", "ratelimit_service_config_load_success",
		"ratelimit_service_should_rate_limit_error", "ratelimit_service_total_requests"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m.reference.duration); n != 2 {
		t.Errorf("%d methods are timed, want 2", n)
	}
}

// A scraper that asks for OpenMetrics must not get the counters as …_total.
func TestReferenceNamesAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    *Metrics
		open bool
	}{{newReference(), false}, {New(Build{}), true}} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
		w := httptest.NewRecorder()
		c.m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
		if got := strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text"); got != c.open {
			t.Errorf("answered in OpenMetrics: %v, want %v", got, c.open)
		}
		if strings.Contains(w.Body.String(), "config_load_success_total") {
			t.Error("a counter got another name")
		}
	}
}

func TestReferenceIsOffByDefault(t *testing.T) {
	t.Parallel()
	m := New(Build{})
	if m.ReferenceTally(m.Limit("d", "r", false), []string{"a"}, false) != nil {
		t.Error("limits are counted twice")
	}
	n, err := testutil.GatherAndCount(m.Gatherer(), "ratelimit_service_config_load_success")
	if n != 0 || err != nil {
		t.Errorf("%d series, %v", n, err)
	}
}
