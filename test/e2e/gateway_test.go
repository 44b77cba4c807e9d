package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestGateway sends requests through the gateway of deploy/envoy.yaml, which
// limits them by config/. The cases share it: each has an address, a user and a
// tenant of its own.
func TestGateway(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		test func(*testing.T, *gateway, *rls)
	}{
		{"allowed", testAllowed},
		{"every rule is reached", testEveryRule},
		{"denied", testDenied},
		{"per address", testPerAddress},
		{"partner", testPartner},
		{"plans", testPlans},
		{"cost", testCost},
		{"usage after the response", testUsage},
		{"refund", testRefund},
		{"override", testOverride},
		{"shadow", testShadow},
		{"bytes that are not UTF-8", testBytes},
		{"retry-after is the truth", testRetryAfter},
	}
	onEachStore(t, func(t *testing.T, g *gateway, s *rls) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.test(t, g, s) })
		}
	})
}

func testAllowed(t *testing.T, g *gateway, _ *rls) {
	a := g.from(t, "127.1.0.1").get("/")
	a.wantAllowed(t)
	if !strings.Contains(a.Body, "shop") {
		t.Errorf("body %q is not the application's", a.Body)
	}
	// Envoy tells of the limit with the least left, and lists all of them.
	const limit = `300, 1000;w=1;name="global", 300;w=60;name="per-ip"`
	if got := a.Header.Get("x-ratelimit-limit"); got != limit {
		t.Errorf("x-ratelimit-limit: %s\nwant: %s", got, limit)
	}
	a.wantBetween(t, "x-ratelimit-remaining", 299, 299)
	a.wantBetween(t, "x-ratelimit-reset", 1, 60)
	if got := a.Header.Get("retry-after"); got != "" {
		t.Errorf("retry-after %s on a request that was let through", got)
	}
}

// testEveryRule asks for each rule of config/ that shows itself in an answer.
func testEveryRule(t *testing.T, g *gateway, _ *rls) {
	for _, rule := range []struct {
		name, path string
		headers    []string
	}{
		{"global", "/", nil},
		{"per-ip", "/", nil},
		{"free-user", "/", []string{"x-plan", "trial", "x-user-id", "rule"}},
		{"pro-user", "/", []string{"x-plan", "pro", "x-user-id", "rule"}},
		{"tenant-second", "/", []string{"x-tenant", "rule"}},
		{"login", "/login", nil},
		{"checkout", "/checkout", nil},
		{"exports", "/export", []string{"x-user-id", "rule"}},
		{"static", "/static/app.js?v=1", nil},
		{"tenant-tokens", "/v1/chat", []string{"x-tenant", "rule"}},
		{"tenant-reserved-tokens", "/v1/complete", []string{"x-tenant", "rule"}},
	} {
		a := g.from(t, "127.1.0.2").get(rule.path, rule.headers...)
		a.wantAllowed(t)
		if limits := a.Header.Get("x-ratelimit-limit"); !strings.Contains(limits, fmt.Sprintf("name=%q", rule.name)) {
			t.Errorf("%s does not meet rule %s: x-ratelimit-limit: %s", rule.path, rule.name, limits)
		}
	}
}

func testDenied(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.0.3")
	allowed, denial := c.untilDenied(t, 10, "/login")
	if allowed != 5 {
		t.Errorf("%d logins were allowed, want 5", allowed)
	}
	if got := denial.Header.Get("x-envoy-ratelimited"); got != "true" {
		t.Errorf("x-envoy-ratelimited: %q, want true", got)
	}
	limit := denial.Header.Get("x-ratelimit-limit")
	if !strings.HasPrefix(limit, "5, ") || !strings.Contains(limit, `5;w=60;name="login"`) {
		t.Errorf("x-ratelimit-limit: %s\nwant 5 of the limit named login", limit)
	}
	denial.wantBetween(t, "x-ratelimit-remaining", 0, 0)
	denial.wantBetween(t, "x-ratelimit-reset", 1, 60)
	if reset, retry := denial.seconds(t, "x-ratelimit-reset"), denial.seconds(t, "retry-after"); reset != retry {
		t.Errorf("retry-after %d, but x-ratelimit-reset %d", retry, reset)
	}
	c.get("/").wantAllowed(t)                           // another route of the same caller
	g.from(t, "127.1.0.4").get("/login").wantAllowed(t) // another caller
}

func testPerAddress(t *testing.T, g *gateway, _ *rls) {
	allowed, denial := g.from(t, "127.1.1.1").untilDenied(t, 320, "/")
	// A few flow back when a minute ends in the midst of it.
	if allowed < 300 || allowed > 310 {
		t.Errorf("%d requests of one address were allowed, want 300", allowed)
	}
	denial.wantBetween(t, "retry-after", 1, 120)
	g.from(t, "127.1.1.2").get("/").wantAllowed(t)
}

// testPartner: the unlimited rule replaces the limit by address, not others.
func testPartner(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.2.1")
	for range 320 {
		a := c.get("/", "x-partner", "yes")
		if a.wantAllowed(t); t.Failed() {
			return
		}
	}
	limits := c.get("/", "x-partner", "yes").Header.Get("x-ratelimit-limit")
	if strings.Contains(limits, "per-ip") || !strings.Contains(limits, "global") {
		t.Errorf("x-ratelimit-limit: %s\nwant global and not per-ip", limits)
	}
}

// testPlans: free and trial have the same rule, and a bucket for each value.
func testPlans(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.3.1")
	allowed, denial := c.untilDenied(t, 30, "/", "x-plan", "free", "x-user-id", "ann")
	if allowed < 10 || allowed > 20 {
		t.Errorf("%d requests were allowed, want a burst of 10", allowed)
	}
	denial.wantBetween(t, "retry-after", 1, 1)
	c.get("/", "x-plan", "trial", "x-user-id", "ann").wantAllowed(t)
	c.get("/", "x-plan", "free", "x-user-id", "bob").wantAllowed(t)
	c.get("/", "x-plan", "no such plan", "x-user-id", "ann").wantAllowed(t)
}

// testCost: an export is worth 10 of 60, and what is denied costs nothing.
func testCost(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.4.1")
	allowed, first := c.untilDenied(t, 10, "/export", "x-user-id", "carl")
	if allowed != 6 {
		t.Errorf("%d exports were allowed, want 6", allowed)
	}
	for range 10 {
		c.get("/export", "x-user-id", "carl").wantDenied(t)
	}
	last := c.get("/export", "x-user-id", "carl")
	first.wantBetween(t, "retry-after", 500, 600) // 10 hits flow back in 10 minutes
	last.wantBetween(t, "retry-after", 400, first.seconds(t, "retry-after"))
}

// testUsage: 20,000 tokens, 6,000 for each response. The look before it passes
// as long as one token is left; the report is charged in any case.
func testUsage(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.5.1")
	for range 4 {
		c.get("/v1/chat", "x-tenant", "dora").wantAllowed(t)
	}
	var denial answer
	eventually(t, 5*time.Second, "a denial after 24,000 tokens were reported", func() bool {
		denial = c.get("/v1/chat", "x-tenant", "dora")
		// Not a denial of the tenant's 20 requests a second.
		return denial.Status == http.StatusTooManyRequests && denial.seconds(t, "retry-after") > 1
	})
	denial.wantBetween(t, "x-ratelimit-remaining", 0, 0)
	denial.wantBetween(t, "retry-after", 5, 60)
	c.get("/v1/chat", "x-tenant", "emil").wantAllowed(t)
}

// testRefund: 5,000 of 20,000 are taken, 4,000 of those come back. Without
// refunds the fifth call would be denied.
func testRefund(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.6.1")
	for i := range 10 {
		a := c.get("/v1/complete", "x-tenant", "fred")
		if a.Status != http.StatusOK {
			t.Fatalf("call %d: status %d, want 200", i+1, a.Status)
		}
		time.Sleep(50 * time.Millisecond) // the refund is a call after the response
	}
}

// testOverride: the route says 3 an hour, the rule 100.
func testOverride(t *testing.T, g *gateway, _ *rls) {
	allowed, denial := g.from(t, "127.1.7.1").untilDenied(t, 10, "/beta")
	if allowed != 3 {
		t.Errorf("%d requests were allowed, want the 3 of the route", allowed)
	}
	if limit := denial.Header.Get("x-ratelimit-limit"); !strings.Contains(limit, `3;w=3600;name="beta"`) {
		t.Errorf("x-ratelimit-limit: %s\nwant 3 an hour of the limit named beta", limit)
	}
	denial.wantBetween(t, "retry-after", 1000, 1200)
}

// testShadow: five a second on trial deny nobody, nor show.
func testShadow(t *testing.T, g *gateway, s *rls) {
	for _, a := range g.from(t, "127.1.8.1").burst(30, "/search") {
		a.wantAllowed(t)
		if limits := a.Header.Get("x-ratelimit-limit"); strings.Contains(limits, "search-trial") {
			t.Errorf("a limit on trial is shown: %s", limits)
		}
	}
	if !strings.Contains(s.metrics(t), `rule="search-trial"`) {
		t.Error("the limit on trial is not in the metrics")
	}
}

// testBytes: any bytes name a bucket, and different bytes another.
func testBytes(t *testing.T, g *gateway, _ *rls) {
	c := g.from(t, "127.1.9.1")
	allowed, denial := c.untilDenied(t, 30, "/", "x-plan", "free", "x-user-id", "b\xff\xfe")
	if allowed < 10 || allowed > 20 {
		t.Errorf("%d requests were allowed, want a burst of 10", allowed)
	}
	denial.wantBetween(t, "x-ratelimit-remaining", 0, 0)
	c.get("/", "x-plan", "free", "x-user-id", "b\xff\xfd").wantAllowed(t)
	c.get("/", "x-plan", "free", "x-user-id", "b\uFFFD\uFFFD").wantAllowed(t)
}

// testRetryAfter: who is denied and waits as long as it was told is let through,
// also where a limit has room again after a fraction of a second.
func testRetryAfter(t *testing.T, g *gateway, _ *rls) {
	for _, limit := range []struct {
		name, address, path string
		headers             []string
	}{
		{"leaky_bucket, 10 a second", "127.1.10.1", "/checkout", nil},
		{"fixed_window, 20 a second", "127.1.10.2", "/", []string{"x-tenant", "gina"}},
		{"token_bucket, 60 a minute", "127.1.10.3", "/", []string{"x-plan", "free", "x-user-id", "gina"}},
	} {
		t.Run(limit.name, func(t *testing.T) {
			c := g.from(t, limit.address)
			for range 3 {
				wait := waitTold(t, c.burst(60, limit.path, limit.headers...))
				time.Sleep(wait)
				c.get(limit.path, limit.headers...).wantAllowed(t)
			}
		})
	}
}

// waitTold returns the longest wait that the denials of a burst tell.
func waitTold(t *testing.T, answers []answer) time.Duration {
	t.Helper()
	longest := 0
	for _, a := range answers {
		if a.Status == http.StatusTooManyRequests {
			longest = max(longest, a.seconds(t, "retry-after"))
		}
	}
	if longest == 0 {
		t.Fatalf("none of %d requests at once was denied with a retry-after", len(answers))
	}
	return time.Duration(longest) * time.Second
}
