package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestLocalOutage: with on_store_error: local a total outage of 10 s under load,
// of which Redis hangs for the first half and is dead for the second, gives
// decisions only. The limit of this one server holds all the while.
func TestLocalOutage(t *testing.T) {
	t.Parallel()
	const callers, amount = 20, 300
	redis, store := startRedis(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 300, algorithm: fixed_window, on_store_error: local}}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := startRLS(t, store, "RULES="+rules)
	redis.signal(syscall.SIGSTOP)
	var answers, allowed atomic.Int64
	end := time.Now().Add(10 * time.Second)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for tick := time.NewTicker(20 * time.Millisecond); time.Now().Before(end); <-tick.C {
				switch status := s.ask(t, "d"); status {
				case http.StatusOK:
					allowed.Add(1)
				case http.StatusTooManyRequests:
				default:
					t.Errorf("status %d", status)
				}
				answers.Add(1)
			}
		})
	}
	time.Sleep(5 * time.Second)
	redis.kill()
	group.Wait()
	if n := answers.Load(); n < 2000 {
		t.Errorf("%d answers in 10 s: that is no load", n)
	}
	if n := allowed.Load(); n != amount {
		t.Errorf("%d calls passed, want the %d of the limit", n, amount)
	}
}
