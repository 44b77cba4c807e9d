package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestHungRedis stops Redis from answering, without closing a connection, and
// checks that every call is answered by each limit's own policy: those that wait
// for Redis in vain, and those that come once the breaker is open.
func TestHungRedis(t *testing.T) {
	t.Parallel()
	redis, store := startRedis(t)
	s := startRLS(t, store)
	g := startGateway(t, patient, s)
	c := g.from(t, "127.4.0.1")
	policies := []struct {
		policy, path string
		headers      []string
		want         int
	}{
		{"local", "/", nil, http.StatusOK},
		{"allow", "/", []string{"x-tenant", "hugo"}, http.StatusOK},
		{"deny", "/login", nil, http.StatusTooManyRequests},
		{"error", "/", []string{"x-plan", "pro", "x-user-id", "hugo"}, http.StatusInternalServerError},
	}
	// decides makes requests of policies that let none through without a store.
	decides := func(c *client) func() bool {
		return func() bool {
			a := c.get("/", "x-plan", "pro", "x-user-id", "hugo")
			return a.Status == http.StatusOK && c.get("/login").Status == http.StatusOK
		}
	}
	eventually(t, 10*time.Second, "decisions on a healthy Redis", decides(c))

	redis.signal(syscall.SIGSTOP)
	for _, p := range policies {
		for i := range 20 {
			if a := c.get(p.path, p.headers...); a.Status != p.want {
				t.Errorf("%s: request %d while Redis hangs: status %d, want %d", p.policy, i+1, a.Status, p.want)
			}
		}
	}
	redis.signal(syscall.SIGCONT)
	// From another address: what Redis was sent while it hung may be charged now.
	eventually(t, 10*time.Second, "decisions again after Redis goes on", decides(g.from(t, "127.4.0.2")))
}
