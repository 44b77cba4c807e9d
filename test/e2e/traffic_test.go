package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// traffic is a steady stream of requests of which each must be answered.
type traffic struct {
	stop    chan struct{}
	senders sync.WaitGroup

	mu       sync.Mutex
	sent     int
	failures []string
}

// startTraffic has a few senders make 400 calls a second to the gateway, each from an
// address of its own, until the traffic is ended.
func startTraffic(t *testing.T, g *gateway) *traffic {
	t.Helper()
	f := &traffic{stop: make(chan struct{})}
	for i := range 6 {
		c := g.from(t, fmt.Sprintf("127.2.0.%d", i+1))
		f.senders.Go(func() { f.send(c) })
	}
	t.Cleanup(f.end)
	return f
}

func (f *traffic) send(c *client) {
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
			f.note(c.get("/", "x-partner", "yes"))
		}
	}
}

func (f *traffic) note(a answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent++
	if a.Status != http.StatusOK {
		f.failures = append(f.failures, fmt.Sprintf("%s: status %d %v %q",
			time.Now().Format(time.StampMilli), a.Status, a.Err, a.Body))
	}
}

// end stops the senders; it may be called again.
func (f *traffic) end() {
	f.mu.Lock()
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	f.mu.Unlock()
	f.senders.Wait()
}

// wantNoFailure ends the traffic and checks that every request was answered.
func (f *traffic) wantNoFailure(t *testing.T, atLeast int) {
	t.Helper()
	f.end()
	if len(f.failures) > 0 {
		t.Errorf("%d of %d requests failed, the first: %s", len(f.failures), f.sent, f.failures[0])
	}
	if f.sent < atLeast {
		t.Errorf("only %d requests were sent, want at least %d for a test that means something", f.sent, atLeast)
	}
	t.Logf("%d requests", f.sent)
}
