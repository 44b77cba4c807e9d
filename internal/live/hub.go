package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// maxWatchers bounds what watching may cost.
const maxWatchers = 16

// ErrBusy says that enough watch already.
var ErrBusy = errors.New("16 watch already: ask again when one has left")

// Hub lets many watch one limiter. It is safe for concurrent use.
type Hub struct {
	limiter *rls.Limiter
	watcher *rls.Watcher
	now     func() time.Time

	mu   sync.Mutex
	taps atomic.Pointer[[]*tap] // replaced, never changed
}

// NewHub makes a hub that watches only while somebody asks it. hashed and hidden say
// what is shown of values.
func NewHub(limiter *rls.Limiter, hashed, hidden bool) *Hub {
	h := &Hub{limiter: limiter, now: time.Now}
	h.watcher = &rls.Watcher{See: h.see, Hashed: hashed, Hidden: hidden}
	return h
}

func (h *Hub) see(s *rls.Seen) {
	if taps := h.taps.Load(); taps != nil {
		for _, t := range *taps {
			t.see(s)
		}
	}
}

// Sample watches for a while.
func (h *Hub) Sample(ctx context.Context, d time.Duration) (*Snapshot, error) {
	t, err := h.open()
	if err != nil {
		return nil, err
	}
	defer h.shut(t)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(d):
		return t.take(), nil
	}
}

// Stream hands send what was decided since the last time, so far apart, until ctx
// ends or send fails. While send takes its time, no more than one tap's bounds is
// held for it.
func (h *Hub) Stream(ctx context.Context, every time.Duration, send func(*Snapshot) error) error {
	t, err := h.open()
	if err != nil {
		return err
	}
	defer h.shut(t)
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if err := send(t.take()); err != nil {
				return err
			}
		}
	}
}

func (h *Hub) open() (*tap, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var taps []*tap
	if now := h.taps.Load(); now != nil {
		taps = *now
	}
	if len(taps) >= maxWatchers {
		return nil, ErrBusy
	}
	t := newTap(h.now)
	taps = append(slices.Clone(taps), t)
	h.taps.Store(&taps)
	h.limiter.Watch(h.watcher)
	return t, nil
}

func (h *Hub) shut(t *tap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	taps := slices.DeleteFunc(slices.Clone(*h.taps.Load()), func(other *tap) bool { return other == t })
	h.taps.Store(&taps)
	if len(taps) == 0 {
		h.limiter.Watch(nil)
	}
}
