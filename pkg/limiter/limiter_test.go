package limiter

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEachStore runs a test on memory and on a real Redis.
func onEachStore(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, Options{})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Options{Redis: &redisstore.Options{Addrs: []string{redistest.Start(t).Addr}}, Budget: 10 * time.Second})
	})
}

func mustOpen(t *testing.T, o Options) *Limiter {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Two limits, many callers at once: exactly the stricter passes, and is charged on
// both.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, o Options) {
		o.Limits = []Limit{{Key: "user", Requests: 10, Per: time.Hour}, {Key: "all", Requests: 30, Per: time.Hour}}
		l := mustOpen(t, o)
		var allowed atomic.Int64
		var callers sync.WaitGroup
		for range 60 {
			callers.Go(func() {
				d, err := l.Decide(context.Background(), 1, Entry{Key: "user", Value: "ann"}, Entry{Key: "all", Value: "x"})
				if err != nil {
					t.Error(err)
				} else if d.Allowed {
					allowed.Add(1)
				}
			})
		}
		callers.Wait()
		if n := allowed.Load(); n != 10 {
			t.Errorf("%d of 60 calls passed, want 10", n)
		}
		d, err := l.Decide(context.Background(), 20, Entry{Key: "all", Value: "x"})
		if err != nil || !d.Allowed {
			t.Errorf("20 of the 30 are left: %+v, %v", d, err)
		}
		if d, _ := l.Decide(context.Background(), 5, Entry{Key: "all", Value: "x"}); d.Allowed {
			t.Error("more than 30 passed")
		}
	})
}

// Several limits of one key must all have room.
func TestTwoLimitsOfAKey(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, Options{Limits: []Limit{{Key: "ip", Requests: 3, Per: time.Minute}, {Key: "ip", Requests: 5, Per: time.Hour, Algorithm: "fixed_window"}}})
	for i, want := range []bool{true, true, true, false} {
		if d, err := l.Decide(context.Background(), 1, Entry{Key: "ip", Value: "x"}); err != nil || d.Allowed != want {
			t.Errorf("call %d: %+v, %v", i, d, err)
		}
	}
}

// request is one of a client, by way of proxies.
func request(remote string, forwarded ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = remote
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	return r
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, o Options) {
		o.Limits = []Limit{{Key: "ip", Requests: 2, Per: time.Hour, Name: "per-ip"}}
		m := &Middleware{Limiter: mustOpen(t, o), Keys: []Key{ClientIP("ip", netip.MustParsePrefix("10.0.0.0/8"))}}
		h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }))
		ask := func(r *http.Request) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		for i, want := range []int{200, 200, 429, 429} {
			w := ask(request("10.1.2.3:99", "198.51.100."+strconv.Itoa(i)+", 203.0.113.7")) // the first hop is the client's own word
			if w.Code != want {
				t.Fatalf("call %d: %d, want %d", i, w.Code, want)
			}
			if h := w.Header(); h.Get("X-RateLimit-Limit") != "2" || (h.Get("Retry-After") != "") != (want == 429) || (w.Body.String() == "hello") != (want == 200) {
				t.Errorf("call %d: %v %s", i, h, w.Body)
			}
		}
		if w := ask(request("192.0.2.1:1", "203.0.113.7")); w.Code != 200 {
			t.Errorf("a stranger's X-Forwarded-For is believed: %d", w.Code)
		}
	})
}

func TestClientIP(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		remote    string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:99", nil, "192.0.2.1"},
		{"192.0.2.1:99", []string{"203.0.113.7"}, "192.0.2.1"},
		{"10.0.0.1:99", nil, "10.0.0.1"},
		{"10.0.0.1:99", []string{"203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1:99", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1:99", []string{"198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		{"10.0.0.1:99", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1:99", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		{"10.0.0.1:99", []string{"10.0.0.9"}, "10.0.0.9"},
		{"10.0.0.1:99", []string{"203.0.113.7, unknown"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{", ,"}, "10.0.0.1"},
		{"[2001:db8:1:2:3:4:5:6]:99", nil, "2001:db8:1:2::/64"},
		{"[fd00::1]:99", []string{"[2001:db8:1:2::9]:80"}, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:99", nil, "192.0.2.1"},
		{"[fe80::1%eth0]:99", nil, "fe80::/64"},
		{"@", nil, ""},
	} {
		if got, _ := ClientIP("ip", trusted...).Value(request(c.remote, c.forwarded...)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r := request("192.0.2.1:99")
	r.Header.Set("X-User", "ann")
	matched := request("192.0.2.1:99")
	matched.Pattern = "GET /users/{id}"
	for _, c := range []struct {
		key  Key
		r    *http.Request
		want string
		ok   bool
	}{
		{Global("g"), r, "all", true},
		{Header("user", "X-User"), r, "ann", true},
		{Header("user", "X-Other"), r, "", false},
		{Endpoint("e"), r, "GET /", true},
		{Endpoint("e"), matched, "GET /users/{id}", true},
	} {
		if value, ok := c.key.Value(c.r); value != c.want || ok != c.ok {
			t.Errorf("%s: %q %t, want %q %t", c.key.Name, value, ok, c.want, c.ok)
		}
	}
}

// While Redis hangs, requests pass or are refused as the program chose, soon.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := mustOpen(t, Options{Limits: []Limit{{Key: "g", Requests: 1000, Per: time.Hour}}, Redis: &redisstore.Options{Addrs: []string{server.Addr}}, Budget: 50 * time.Millisecond})
	server.Signal(syscall.SIGSTOP)
	defer server.Signal(syscall.SIGCONT)
	for closed, want := range map[bool]int{false: 200, true: 503} {
		m := &Middleware{Limiter: l, Keys: []Key{Global("g")}, FailClosed: closed}
		w := httptest.NewRecorder()
		m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, request("192.0.2.1:1"))
		if w.Code != want {
			t.Errorf("fail closed %t: %d, want %d", closed, w.Code, want)
		}
	}
}

// Costs, and rules in the language of rule files.
func TestCostsAndRules(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, Options{Rules: []byte("domain: app\ndescriptors:\n- {key: plan, value: free, rate_limit: {unit: hour, requests_per_unit: 10, denied_hits: free}}\n")})
	m := &Middleware{Limiter: l, Keys: []Key{Header("plan", "X-Plan")}, Cost: func(r *http.Request) uint64 { n, _ := strconv.ParseUint(r.Header.Get("X-Cost"), 10, 64); return n }}
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		plan, cost, remaining string
		want                  int
	}{
		{"free", "4", "6", 200}, {"free", "0", "6", 200}, {"free", "7", "6", 429}, {"free", "6", "0", 200}, {"free", "1", "0", 429}, {"pro", "99", "", 200}, {"", "99", "", 200},
	} {
		r := request("192.0.2.1:1")
		r.Header.Set("X-Plan", c.plan)
		r.Header.Set("X-Cost", c.cost)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || w.Header().Get("X-RateLimit-Remaining") != c.remaining {
			t.Errorf("%+v: %d %v", c, w.Code, w.Header())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"unit_multiplier":           {Limits: []Limit{{Key: "a", Requests: 1, Per: 1500 * time.Millisecond}}},
		"key":                       {Limits: []Limit{{Requests: 1, Per: time.Second}}},
		"algorithm":                 {Limits: []Limit{{Key: "a", Requests: 1, Per: time.Second, Algorithm: "magic"}}},
		"requests_per_unit":         {Rules: []byte("domain: app\ndescriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: many}}]")},
		"share its bucket with":     {Limits: []Limit{{Key: "a", Requests: 1, Per: time.Second}, {Key: "a", Requests: 2, Per: time.Second}}},
		"no Redis address":          {Redis: &redisstore.Options{}},
		"burst has no meaning for ": {Limits: []Limit{{Key: "a", Requests: 1, Per: time.Second, Burst: 3, Algorithm: "fixed_window"}}},
	} {
		l, err := Open(o)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
