package buckets_test

import (
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// TestLayoutFixture holds layout 1 to the bytes of testdata/layout1.txt, which
// never change: a later release reads what this one wrote.
func TestLayoutFixture(t *testing.T) {
	t.Parallel()
	states := map[string]buckets.State{
		"token_bucket":           {Count: 7, Frac: 59_999_999, Time: start},
		"fixed_window":           {Count: 1<<33 - 2, Time: start},
		"sliding_window_log":     {Count: 5, Log: []buckets.Hit{{Time: start, Hits: 2}, {Time: start + 1, Hits: 3}}},
		"sliding_window_counter": {Count: 1, Prev: 1<<32 - 1, Time: start},
		"leaky_bucket":           {Count: 1, Time: 1},
		"gcra":                   {Time: 1<<53 - 1},
	}
	fixture, err := os.ReadFile("testdata/layout1.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(fixture)) {
		name, want, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || name == "#" {
			continue
		}
		rows++
		a, ok := buckets.ParseAlgorithm(name)
		if !ok {
			t.Fatalf("no algorithm %q", name)
		}
		got := hex.EncodeToString(buckets.AppendState(nil, a, states[name]))
		if got != strings.TrimSpace(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		value, err := hex.DecodeString(strings.TrimSpace(want))
		if err != nil {
			t.Fatal(err)
		}
		state, err := buckets.ParseState(a, value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(states[name], state, cmpopts.IgnoreUnexported(buckets.State{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if rows != len(buckets.Algorithms()) {
		t.Errorf("the fixture has %d rows", rows)
	}
}

func TestParseStateRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a buckets.Algorithm) {
		good := buckets.AppendState(nil, a, buckets.State{Count: 1, Time: start, Log: logOf(a, buckets.Hit{Time: start, Hits: 1})})
		if _, err := buckets.ParseState(a, good); err != nil {
			t.Fatal(err)
		}
		newer := append([]byte{2}, good[1:]...)
		if _, err := buckets.ParseState(a, newer); !errors.Is(err, buckets.ErrNewer) {
			t.Errorf("layout 2: %v", err)
		}
		other := append([]byte{1, byte(a)%6 + 1}, good[2:]...)
		huge := append([]byte{}, good...)
		huge[2] = 0x7f
		for _, value := range [][]byte{nil, {}, {0}, {1}, []byte("17"), good[:len(good)-1], append(append([]byte{}, good...), 0), other, huge, append([]byte{16}, good[1:]...)} {
			if _, err := buckets.ParseState(a, value); !errors.Is(err, buckets.ErrForeign) {
				t.Errorf("%x: %v, want ErrForeign", value, err)
			}
		}
	})
}

func logOf(a buckets.Algorithm, hits ...buckets.Hit) []buckets.Hit {
	if a == buckets.SlidingWindowLog {
		return hits
	}
	return nil
}

// FuzzParseState: any value is refused or is a state that is written back as it
// was, and that can be decided on.
func FuzzParseState(f *testing.F) {
	for _, a := range buckets.Algorithms() {
		f.Add(byte(a), buckets.AppendState(nil, a, buckets.State{Count: 3, Time: start, Log: logOf(a, buckets.Hit{Time: start, Hits: 3})}), uint64(2), byte(0), start)
		f.Add(byte(a), buckets.AppendState(nil, a, buckets.State{Count: 1 << 53, Prev: 1 << 53, Frac: 1 << 53, Time: 1 << 53}), uint64(1<<63), byte(7), int64(1))
	}
	f.Add(byte(buckets.SlidingWindowLog), buckets.AppendState(nil, buckets.SlidingWindowLog, buckets.State{Count: 9}), uint64(5), byte(buckets.Refund), start)
	f.Fuzz(func(t *testing.T, number byte, value []byte, hits uint64, op byte, now int64) {
		a := buckets.Algorithm(number%6 + 1)
		state, err := buckets.ParseState(a, value)
		if err != nil {
			if !errors.Is(err, buckets.ErrForeign) && !errors.Is(err, buckets.ErrNewer) {
				t.Fatal(err)
			}
			return
		}
		if back := buckets.AppendState(nil, a, state); string(back) != string(value) {
			t.Fatalf("%x is written back as %x", value, back)
		}
		l := &buckets.Limit{Algorithm: a, Amount: 10, WindowMicros: minute}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		o := &one{limit: l, now: max(1, now%(1<<52)), state: state}
		for range 3 {
			v := o.decide(buckets.Item{Op: buckets.Op(op % 4), Hits: hits, Charged: op&4 != 0, AtMicros: now})
			if v.Remaining > l.Capacity() {
				t.Fatalf("%+v", v)
			}
		}
	})
}
