package buckets

import (
	"encoding/binary"
	"testing"
)

// What the script has the short way for: nothing of it can be undone, and no
// bucket is aged under two limits.
func TestPlainRuns(t *testing.T) {
	t.Parallel()
	limit := func(amount uint64, align Align) *Limit {
		l := &Limit{Algorithm: FixedWindow, Amount: amount, WindowMicros: 86_400_000_000, Align: align}
		if align == AlignCalendar {
			l.Calendar, _ = NewCalendar(Day, "")
		}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		return l
	}
	ten, twenty := limit(10, AlignEpoch), limit(20, AlignEpoch)
	type call struct {
		items []Item
		slots []int
	}
	take := Item{Limit: ten, Hits: 1}
	for name, c := range map[string]struct {
		calls []call
		plain byte
	}{
		"one":                          {[]call{{[]Item{take}, []int{0}}}, 1},
		"charged":                      {[]call{{[]Item{{Limit: ten, Hits: 1, Charged: true}}, []int{0}}}, 1},
		"two on one bucket":            {[]call{{[]Item{take}, []int{0}}, {[]Item{take}, []int{0}}}, 1},
		"two limits":                   {[]call{{[]Item{take}, []int{0}}, {[]Item{{Limit: twenty, Hits: 1}}, []int{1}}}, 1},
		"two limits on one bucket":     {[]call{{[]Item{take}, []int{0}}, {[]Item{{Limit: twenty, Hits: 1}}, []int{0}}}, 0},
		"equal limits on one bucket":   {[]call{{[]Item{take}, []int{0}}, {[]Item{{Limit: limit(10, AlignEpoch), Hits: 1}}, []int{0}}}, 1},
		"no item":                      {[]call{{nil, nil}}, 0},
		"two items":                    {[]call{{[]Item{take, take}, []int{0, 1}}}, 0},
		"a look":                       {[]call{{[]Item{{Limit: ten, Hits: 1, Op: Look}}, []int{0}}}, 0},
		"a shadow":                     {[]call{{[]Item{{Limit: ten, Hits: 1, Role: Shadow}}, []int{0}}}, 0},
		"calendar":                     {[]call{{[]Item{{Limit: limit(10, AlignCalendar), Hits: 1, Bounds: new(Bounds)}}, []int{0}}}, 0},
		"plain again after two limits": {[]call{{[]Item{take, take}, []int{0, 1}}, {[]Item{take}, []int{0}}}, 0},
	} {
		var calls ScriptCalls
		for range 2 { // it is used again
			calls.Reset()
			for _, call := range c.calls {
				calls.Add(call.items, call.slots)
			}
			if got := calls.Packed()[0]; got != c.plain {
				t.Errorf("%s: plain is %d, want %d", name, got, c.plain)
			}
		}
	}
}

// Limits that say the same are one to the script, however many there are.
func TestManyLimitsInOneRun(t *testing.T) {
	t.Parallel()
	var calls ScriptCalls
	for range 2 { // it is used again
		calls.Reset()
		var want []uint16
		var items []Item
		var slots []int
		for i := range 300 {
			l := &Limit{Algorithm: FixedWindow, Amount: uint64(1 + i%100), WindowMicros: 1_000_000}
			if err := l.Prepare(); err != nil {
				t.Fatal(err)
			}
			items = append(items, Item{Limit: l, Hits: 1}, Item{Limit: l, Hits: 1})
			slots = append(slots, 2*i, 2*i+1)
			want = append(want, uint16(1+i%100), uint16(1+i%100))
		}
		calls.Add(items, slots)
		packed := calls.Packed()
		if known := binary.BigEndian.Uint16(packed[3:]); known != 100 {
			t.Fatalf("%d limits, want 100", known)
		}
		packed = packed[5+100*packedLimit+2:]
		for i := range want {
			if got := binary.BigEndian.Uint16(packed[i*13+11:]); got != want[i] {
				t.Fatalf("item %d has limit %d, want %d", i, got, want[i])
			}
		}
	}
}
