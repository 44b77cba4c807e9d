package service

import (
	"sync"
	"time"
)

// throttle lets one event through in a while, for logs. Set every, then share it
// freely.
type throttle struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
	held int64
}

// allow tells whether an event at now may pass, and if so how many were held
// back since the last that did.
func (t *throttle) allow(now time.Time) (held int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.next) {
		t.held++
		return 0, false
	}
	held, t.held = t.held, 0
	t.next = now.Add(t.every)
	return held, true
}
