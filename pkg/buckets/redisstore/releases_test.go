package redisstore

import (
	"crypto/sha1"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// release makes a store what another release would be: its script has another
// hash, and the layout of keys and values is the same.
func release(t *testing.T, addr, version string) *Store {
	t.Helper()
	s := open(t, Options{Addrs: []string{addr}})
	for !s.Answered() {
		time.Sleep(time.Millisecond)
	}
	s.script += "\n-- " + version + "\n"
	sum := sha1.Sum([]byte(s.script))
	s.sha = hex.EncodeToString(sum[:])
	return s
}

// A rollout runs two releases side by side on one Redis: together they admit
// what one does, and neither resets the buckets of the other.
func TestTwoReleasesAdmitNoMoreThanOne(t *testing.T) {
	server := redistest.Start(t)
	releases := []*Store{release(t, server.Addr, "this"), release(t, server.Addr, "the next")}
	for _, a := range buckets.Algorithms() {
		l := &buckets.Limit{Algorithm: a, Amount: 100, Burst: 100, WindowMicros: 24 * 3600_000_000}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		key := string((&buckets.Keyer{}).Append(nil, "rollout", []buckets.Entry{{Key: "user", Value: "a"}}, nil, l))
		var allowed atomic.Int64
		var group sync.WaitGroup
		for i := range 400 {
			group.Go(func() {
				call, _ := take(releases[i%2], 10*time.Second, l, key)
				if call.Err != nil {
					t.Error(call.Err)
				} else if !call.Denied {
					allowed.Add(1)
				}
			})
		}
		group.Wait()
		if n := allowed.Load(); n != 100 {
			t.Errorf("%v: %d of 400 calls allowed, want 100", a, n)
		}
	}
}

// layout1 are buckets as the first release wrote them on 2026-01-01T00:00:00Z
// with 7 of 10 hits a day in use: keys and values must be read for ever. Never
// change a row.
var layout1 = []struct{ algorithm, key, value string }{
	{"token_bucket", "rls1:{shop|user=a}:token_bucket:86400", "010100000000000000070000000000000000" + "0006474846204000"},
	{"fixed_window", "rls1:{shop|user=a}:fixed_window:86400", "01020000000000000007" + "0006474846204000"},
	{"sliding_window_log", "rls1:{shop|user=a}:sliding_window_log:86400", "01030000000000000007" + "0006474846204000" + "00000007"},
	{"sliding_window_counter", "rls1:{shop|user=a}:sliding_window_counter:86400", "010400000000000000070000000000000000" + "0006474846204000"},
	{"leaky_bucket", "rls1:{shop|user=a}:leaky_bucket:86400", "010500000000000000070000000000000000" + "0006474846204000"},
	{"gcra", "rls1:{shop|user=a}:gcra:86400", "0106000647565b03d000"},
}

func TestLayout1IsRead(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client()
	s := open(t, Options{Addrs: []string{server.Addr}, Now: func() int64 { return 1_767_225_600_000_000 }})
	if len(layout1) != len(buckets.Algorithms()) {
		t.Errorf("%d buckets of layout 1 for %d algorithms", len(layout1), len(buckets.Algorithms()))
	}
	for _, old := range layout1 {
		a, _ := buckets.ParseAlgorithm(old.algorithm)
		l := &buckets.Limit{Algorithm: a, Amount: 10, Burst: 10, WindowMicros: 86400_000_000}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		key := string((&buckets.Keyer{}).Append(nil, "shop", []buckets.Entry{{Key: "user", Value: "a"}}, nil, l))
		if key != old.key {
			t.Errorf("the key is %s, of layout 1 %s", key, old.key)
		}
		value, err := hex.DecodeString(old.value)
		if err != nil {
			t.Fatal(err)
		}
		admin.MustDo(t, "SET", old.key, string(value), "PX", "1000000")
		call, _ := take(s, 10*time.Second, l, key)
		if v := call.Items[0].Verdict; call.Err != nil || v.Remaining != 2 {
			t.Errorf("%s: %+v, error %v", old.algorithm, v, call.Err)
		}
	}
	if n := s.Stats().Foreign; n != 0 {
		t.Errorf("%d values of layout 1 were taken for foreign", n)
	}
}
