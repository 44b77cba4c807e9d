package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

const rules = `
domain: d
descriptors:
- {key: user, rate_limit: {unit: hour, requests_per_unit: 3, name: per-user}}
- {key: token, sensitive: true, rate_limit: {unit: hour, requests_per_unit: 3}}
- {key: shadow, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
`

// ask sends n calls with one entry.
func ask(t testing.TB, l *rls.Limiter, n int, key, value string) {
	t.Helper()
	for range n {
		req := rls.Request{Domain: "d", Descriptors: []rls.Descriptor{{Entries: []descriptors.Entry{{Key: key, Value: value}}}}}
		if err := l.Decide(context.Background(), &req, new(rls.Answer)); err != nil {
			t.Fatal(err)
		}
	}
}

func newLimiter(t testing.TB) *rls.Limiter {
	t.Helper()
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { store.Close() })
	l := rls.NewLimiter(rls.Options{Store: store})
	set, problems := descriptors.Compile([]descriptors.File{{Name: "d.yaml", Data: []byte(rules)}}, nil, descriptors.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	l.Install(set)
	return l
}

// sample watches while calls are made.
func sample(t *testing.T, h *Hub, calls func()) *Snapshot {
	t.Helper()
	tap, err := h.open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.shut(tap)
	calls()
	return tap.take()
}

func TestSample(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	h := NewHub(l, false, false)
	ask(t, l, 2, "user", "ann") // before anybody watches
	s := sample(t, h, func() {
		ask(t, l, 4, "user", "ann")
		ask(t, l, 1, "user", "bob")
		ask(t, l, 3, "shadow", "x")
		ask(t, l, 1, "nobody", "x")
	})
	if s.Allowed != 3 || s.Denied != 3 || s.ShadowDenied != 2 || s.ByPolicy != 0 {
		t.Errorf("%+v", s)
	}
	if len(s.Rules) != 2 || s.Rules[0].Rule != "per-user" || s.Rules[0].Denied != 3 || s.Rules[0].Hits != 5 || s.Rules[0].Place != "d.yaml:4:27" || !s.Rules[1].Shadow {
		t.Errorf("rules: %+v", s.Rules)
	}
	if len(s.Hot) != 3 || s.Hot[0].Value != "user=ann" || s.Hot[0].Hits != 4 || s.Hot[0].Denied != 3 || s.Hot[0].Capacity != 3 {
		t.Errorf("hot: %+v", s.Hot)
	}
	if len(s.Denials) != 5 || !s.Denials[0].Shadow || s.Denials[4].Value != "user=ann" || s.Denials[4].Remaining != 0 || s.Denials[4].ResetMicros <= 0 {
		t.Errorf("denials: %+v", s.Denials)
	}
	if l := len(sample(t, h, func() {}).Hot); l != 0 {
		t.Errorf("a new watcher sees %d values of before", l)
	}
}

// Values are shown as the operator chose, and those of sensitive rules never.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hashed, hidden bool
		user           string // how user=ann looks; "#" is a hash
	}{{false, false, "user=ann"}, {true, false, "user=#"}, {false, true, "user"}} {
		l := newLimiter(t)
		s := sample(t, NewHub(l, c.hashed, c.hidden), func() {
			ask(t, l, 4, "token", "hunter2")
			ask(t, l, 4, "user", "ann")
		})
		text := fmt.Sprintf("%+v", s)
		if strings.Contains(text, "hunter2") || c.user != "user=ann" && strings.Contains(text, "ann") {
			t.Errorf("%+v: a value is shown: %s", c, text)
		}
		for _, b := range s.Hot {
			if strings.HasPrefix(b.Value, "user") && c.user != "user=#" && b.Value != c.user {
				t.Errorf("%+v: %s", c, b.Value)
			}
		}
	}
}

// However many values there are, a bounded number is held, and what is hot is found
// among them.
func TestHotAmongMany(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	h := NewHub(l, false, false)
	s := sample(t, h, func() {
		for i := range 20_000 {
			ask(t, l, 1, "user", fmt.Sprint("u", i))
			if i%20 == 0 {
				ask(t, l, 1, "user", "hot")
			}
		}
		if n := len((*h.taps.Load())[0].buckets); n > maxBuckets {
			t.Errorf("%d values are held", n)
		}
	})
	found := false
	for _, b := range s.Hot {
		found = found || b.Value == "user=hot"
	}
	if len(s.Hot) != shownHot || !found || len(s.Denials) != shownLast {
		t.Errorf("%d values, %d denials, the hot one is among them: %t", len(s.Hot), len(s.Denials), found)
	}
}

// Watchers are bounded, do not disturb each other, and leave nothing behind.
func TestWatchers(t *testing.T) {
	t.Parallel()
	l := newLimiter(t)
	h := NewHub(l, false, false)
	ctx, leave := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	events := make(chan *Snapshot, 1000)
	for range maxWatchers - 1 {
		watching.Go(func() {
			if err := h.Stream(ctx, time.Millisecond, func(s *Snapshot) error { events <- s; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	watching.Go(func() { // one that is stuck
		if err := h.Stream(ctx, time.Millisecond, func(*Snapshot) error { <-ctx.Done(); return nil }); err != nil {
			t.Error(err)
		}
	})
	for h.taps.Load() == nil || len(*h.taps.Load()) < maxWatchers {
		time.Sleep(time.Millisecond)
	}
	if _, err := h.Sample(t.Context(), time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Errorf("one more than may watch: %v", err)
	}
	ask(t, l, 1, "user", "ann")
	seen := 0
	for deadline := time.After(10 * time.Second); seen < maxWatchers-1; {
		select {
		case s := <-events:
			seen += int(s.Allowed)
		case <-deadline:
			t.Fatalf("%d of %d saw the call", seen, maxWatchers-1)
		}
	}
	leave()
	left := make(chan struct{})
	go func() { watching.Wait(); close(left) }()
	for gone := false; !gone; {
		select {
		case <-events: // else they wait to send
		case <-left:
			gone = true
		}
	}
	if len(*h.taps.Load()) != 0 {
		t.Error("somebody is still counted as watching")
	}
}

// BenchmarkWatched is what a call costs with nobody watching, one, and sixteen.
func BenchmarkWatched(b *testing.B) {
	for _, watchers := range []int{0, 1, maxWatchers} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			l := newLimiter(b)
			h := NewHub(l, false, false)
			for range watchers {
				if _, err := h.open(); err != nil {
					b.Fatal(err)
				}
			}
			req := rls.Request{Domain: "d", Descriptors: []rls.Descriptor{{Entries: []descriptors.Entry{{Key: "user", Value: "ann"}}}}}
			var ans rls.Answer
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Decide(context.Background(), &req, &ans); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
