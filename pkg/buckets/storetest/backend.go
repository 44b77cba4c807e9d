package storetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Backend is a store under test and the handles that the tests need.
type Backend struct {
	Store buckets.Store

	// SetNow sets the store's clock, in microseconds since the Unix epoch, and
	// stops it there. From the first SetNow on, a bucket may leave the store
	// only by a call that leaves it as a fresh one: real time that passes must
	// not expire it, for the time of the tests runs apart from it, and back.
	SetNow func(micros int64)

	// Read returns the value of a bucket in layout 1, as [buckets.AppendState]
	// writes it; nil if there is none.
	Read func(t testing.TB, a buckets.Algorithm, key []byte) []byte

	// OneSlot has the tests give all their keys one hash tag, so that a Redis
	// Cluster decides each call in one place: then every rule holds to the
	// letter.
	OneSlot bool

	// Spread says that the buckets of a call lie in places that do not decide
	// together. Then two rules are loosened: what a denied call had charged is
	// given back soon, not at once, and until then a bucket may deny too much.
	Spread bool

	// InOrder says that Decide decides the calls of a list one after the other:
	// then histories have lists of calls, too.
	InOrder bool

	// InProcess says that Decide never has to wait: it answers also with a
	// done context and no budget.
	InProcess bool
}

// Factory opens an empty store, or one whose keys nobody else uses: the tests
// give their keys a prefix that is the test's own. The end of the test closes
// it.
type Factory func(t testing.TB) Backend

// budget is ample: the tests ask for right answers, not for fast ones.
const budget = 30 * time.Second

// start is where the clock of a test begins: 2026-01-01T00:00:00Z, which is
// a boundary of seconds, minutes, hours and days.
const start = 1_767_225_600_000_000

// Durations in microseconds.
const (
	second = 1_000_000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
	year   = 365 * day
)

// bench is a backend with a clock and keys: the vocabulary of the tests.
type bench struct {
	Backend
	t     testing.TB
	keyer buckets.Keyer
	now   int64
}

func newBench(t testing.TB, open Factory) *bench {
	t.Helper()
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	b := &bench{Backend: open(t), t: t, keyer: buckets.Keyer{Prefix: fmt.Sprintf("t%x:", name.Sum64())}}
	if b.OneSlot {
		b.keyer.Prefix = fmt.Sprintf("{t%x}:", name.Sum64())
	}
	b.set(start)
	return b
}

func (b *bench) set(micros int64) {
	b.now = micros
	b.SetNow(micros)
}

func (b *bench) wait(micros int64) { b.set(b.now + micros) }

func (b *bench) key(name string, l *buckets.Limit) []byte {
	return b.keyer.Append(nil, "test", []buckets.Entry{{Key: "bucket", Value: name}}, nil, l)
}

// decide decides one call and fails the test if the store cannot.
func (b *bench) decide(items ...buckets.Item) *buckets.Call {
	b.t.Helper()
	call := &buckets.Call{Items: items}
	b.Store.Decide(context.Background(), budget, []*buckets.Call{call})
	if call.Err != nil {
		b.t.Fatalf("Decide: %v", call.Err)
	}
	return call
}

func (b *bench) item(name string, l *buckets.Limit, hits uint64) buckets.Item {
	item := buckets.Item{Key: b.key(name, l), Limit: l, Hits: l.Clamp(hits)}
	if l.Calendar != nil {
		item.Bounds = l.Calendar.Bounds(b.now)
	}
	return item
}

func (b *bench) look(name string, l *buckets.Limit) buckets.Verdict {
	b.t.Helper()
	item := b.item(name, l, 1)
	item.Op = buckets.Look
	return b.decide(item).Items[0].Verdict
}

// remaining is what a look tells, where a store gives back later: in the end.
func (b *bench) remaining(name string, l *buckets.Limit, want uint64) {
	b.t.Helper()
	got := b.look(name, l).Remaining
	for deadline := time.Now().Add(budget); b.Spread && got != want && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		got = b.look(name, l).Remaining
	}
	if got != want {
		b.t.Errorf("remaining of %s is %d, want %d", name, got, want)
	}
}

// limit makes a limit of amount a minute whose capacity is the amount too.
func limit(t testing.TB, a buckets.Algorithm, amount uint64) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: a, Amount: amount, WindowMicros: minute}
	if a == buckets.LeakyBucket {
		l.Burst = amount
	}
	return prepared(t, l)
}

func prepared(t testing.TB, l *buckets.Limit) *buckets.Limit {
	t.Helper()
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

// each runs a test for every algorithm.
func each(t *testing.T, test func(t *testing.T, a buckets.Algorithm)) {
	for _, a := range buckets.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}
