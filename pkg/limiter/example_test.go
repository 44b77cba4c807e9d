package limiter_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/limiter"
)

// The limiter by itself: here two calls an hour for each user.
func ExampleLimiter_Decide() {
	l, err := limiter.Open(limiter.Options{Limits: []limiter.Limit{{Key: "user", Requests: 2, Per: time.Hour}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for range 3 {
		d, err := l.Decide(context.Background(), 1, limiter.Entry{Key: "user", Value: "ann"})
		fmt.Println(d.Allowed, err)
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// Before a handler: a limit for each client, and one for all together.
func ExampleMiddleware() {
	l, err := limiter.Open(limiter.Options{Limits: []limiter.Limit{
		{Key: "ip", Requests: 1, Per: time.Minute},
		{Key: "all", Requests: 1000, Per: time.Second, Algorithm: "gcra"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	m := limiter.Middleware{Limiter: l, Keys: []limiter.Key{limiter.ClientIP("ip"), limiter.Global("all")}}
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d, %s left, retry after %q\n", w.Code, w.Header().Get("X-RateLimit-Remaining"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, 0 left, retry after ""
	// 429, 0 left, retry after "60"
}
