package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// The script has a short way for runs of plain calls, and a long one for any. A
// plain run is decided alike by both, whatever the store holds: the same answers,
// the same values, the same time to live.
func TestWaysAgree(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	sha := client.MustDo(t, "SCRIPT", "LOAD", buckets.Script()).(string)
	for _, a := range buckets.Algorithms() {
		seed := rand.Uint64()
		t.Logf("%v: seed %d", a, seed)
		w := &plainWorld{rng: rand.New(rand.NewPCG(seed, 0)), client: client, sha: sha, nowMicros: 1_800_000_000_000_000}
		for i := range 60 {
			w.begin(a, i)
			for range 20 {
				w.step(t)
			}
		}
	}
}

// plainWorld has some buckets twice: one for each way.
type plainWorld struct {
	rng       *rand.Rand
	client    *redistest.Client
	sha       string
	nowMicros int64
	keys      [4]string
	limits    [4][]*buckets.Limit
}

var ways = [2]string{"long:", "short:"} // by what the packed calls begin with

func (w *plainWorld) begin(a buckets.Algorithm, number int) {
	for i := range w.keys {
		w.keys[i] = fmt.Sprintf("{%v %d} %d", a, number, i)
		w.limits[i] = storetest.RandomLimits(w.rng, a)
		for w.limits[i][0].Align == buckets.AlignCalendar { // never plain
			w.limits[i] = storetest.RandomLimits(w.rng, a)
		}
	}
}

// step spoils a value now and then, lets time go by, and has a run decided both
// ways.
func (w *plainWorld) step(t *testing.T) {
	t.Helper()
	if w.rng.IntN(10) == 0 {
		w.spoil(t, w.keys[w.rng.IntN(len(w.keys))])
	}
	window := w.limits[0][0].WindowMicros
	w.nowMicros += []int64{0, 1, w.rng.Int64N(window/4 + 1), window, -w.rng.Int64N(window + 1), -5 * window}[w.rng.IntN(6)]
	w.nowMicros = max(w.nowMicros, 1_000_000_000_000_000)
	slots, packed := w.run()
	if packed[0] != 1 {
		t.Fatal("a plain run is not packed as one")
	}
	var answers [2]string
	for way, prefix := range ways {
		packed[0] = byte(way)
		args := []string{"EVALSHA", w.sha, strconv.Itoa(len(slots))}
		for _, at := range slots {
			args = append(args, prefix+w.keys[at])
		}
		args = append(args, string(packed), strconv.FormatInt(w.nowMicros, 10))
		answers[way] = w.client.MustDo(t, args...).(string)
	}
	if answers[0] != answers[1] {
		t.Fatalf("the long way answers\n%x, the short one\n%x", answers[0], answers[1])
	}
	for _, at := range slots {
		w.compareKept(t, w.keys[at])
	}
}

// compareKept compares what Redis holds for one bucket after either way.
func (w *plainWorld) compareKept(t *testing.T, key string) {
	t.Helper()
	var values [2]any
	var ttlMillis [2]int64
	for way, prefix := range ways {
		values[way] = w.client.MustDo(t, "DUMP", prefix+key)
		ttlMillis[way] = w.client.MustDo(t, "PTTL", prefix+key).(int64)
	}
	if values[0] != values[1] || max(ttlMillis[0], ttlMillis[1])-min(ttlMillis[0], ttlMillis[1]) > 30_000 {
		t.Fatalf("%s: the long way keeps %+q for %d ms, the short one %+q for %d ms", key, values[0], ttlMillis[0], values[1], ttlMillis[1])
	}
}

// run is a plain run: what Redis is to be told, and which bucket is at which slot.
func (w *plainWorld) run() (slots []int, packed []byte) {
	var calls buckets.ScriptCalls
	var under [len(w.keys)]*buckets.Limit
	for range 1 + w.rng.IntN(6) {
		at := w.rng.IntN(len(w.keys))
		if under[at] == nil {
			under[at] = w.limits[at][w.rng.IntN(3)]
			slots = append(slots, at)
		}
		l := under[at]
		hits := []uint64{1, 1, 1, 1 + w.rng.Uint64N(5), l.Capacity(), l.Capacity() + 1, 1 + w.rng.Uint64N(l.Capacity())}[w.rng.IntN(7)]
		item := buckets.Item{Limit: l, Hits: l.Clamp(hits), Charged: w.rng.IntN(4) == 0}
		calls.Add([]buckets.Item{item}, []int{slices.Index(slots, at)})
	}
	return slots, slices.Clone(calls.Packed())
}

// spoil puts what is not a state of the bucket where both ways find it.
func (w *plainWorld) spoil(t *testing.T, key string) {
	t.Helper()
	kind := w.rng.IntN(4)
	for _, prefix := range ways {
		switch kind {
		case 0:
			w.client.MustDo(t, "SET", prefix+key, "\x02 of a release to come")
		case 1:
			w.client.MustDo(t, "SET", prefix+key, "\x01\x01 foreign")
		case 2:
			w.client.MustDo(t, "DEL", prefix+key)
			w.client.MustDo(t, "RPUSH", prefix+key, "of another type")
		case 3:
			w.client.MustDo(t, "DEL", prefix+key)
		}
	}
}
