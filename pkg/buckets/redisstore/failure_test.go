package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// slack is what a test allows beyond a budget: the machine may be busy.
const slack = 250 * time.Millisecond

func perHour(t testing.TB, amount uint64) *buckets.Limit {
	t.Helper()
	l := &buckets.Limit{Algorithm: buckets.FixedWindow, Amount: amount, WindowMicros: 3600_000_000}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

func take(s *Store, budget time.Duration, l *buckets.Limit, key string) (*buckets.Call, time.Duration) {
	call := &buckets.Call{Items: []buckets.Item{{Key: []byte(key), Limit: l, Hits: 1}}}
	begin := time.Now()
	s.Decide(context.Background(), budget, []*buckets.Call{call})
	return call, time.Since(begin)
}

func kindOf(call *buckets.Call) buckets.ErrorKind {
	if failed, ok := errors.AsType[*buckets.StoreError](call.Err); ok {
		return failed.Kind
	}
	return ""
}

// wait tries until Redis decides again.
func wait(t *testing.T, s *Store, l *buckets.Limit) *buckets.Call {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		call, _ := take(s, time.Second, l, "rls1:{wait}:fixed_window:3600")
		if call.Err == nil {
			return call
		}
		if time.Now().After(deadline) {
			t.Fatalf("Redis is back, but calls still fail: %v", call.Err)
		}
	}
}

// FAULTS R1: a hung Redis must not hang calls, nor pile goroutines up.
func TestHungRedis(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 1000)
	wait(t, s, l)
	before := runtime.NumGoroutine()
	server.Signal(syscall.SIGSTOP)
	defer server.Signal(syscall.SIGCONT)
	atOnce := 0
	for range 100 {
		call, took := take(s, 20*time.Millisecond, l, "rls1:{hung}:fixed_window:3600")
		if call.Err == nil {
			t.Fatal("a stopped Redis decided")
		}
		if took > 20*time.Millisecond+slack {
			t.Fatalf("waited %v of a budget of 20 ms", took)
		}
		if kindOf(call) == buckets.KindBreaker {
			atOnce++
		}
	}
	if atOnce < 80 {
		t.Errorf("the breaker answered %d of 100 calls, want all but the first few", atOnce)
	}
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	server.Signal(syscall.SIGCONT)
	wait(t, s, l)
}

// Of the calls that a hung Redis got, each is charged once or not at all when
// it comes back: nothing is sent twice.
func TestHungRedisChargesOnce(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 1_000_000)
	wait(t, s, l)
	const key = "rls1:{once}:fixed_window:3600"
	server.Signal(syscall.SIGSTOP)
	asked := 0
	for range 4 {
		take(s, 15*time.Millisecond, l, key)
		asked++
	}
	server.Signal(syscall.SIGCONT)
	wait(t, s, l)
	call, _ := take(s, time.Second, l, key)
	asked++
	if used := 1_000_000 - call.Items[0].Verdict.Remaining; used < 1 || used > uint64(asked) {
		t.Errorf("%d hits charged of %d calls", used, asked)
	}
}

func TestDeadAndRestartedRedis(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 1000)
	wait(t, s, l)
	server.Kill()
	for range 50 {
		call, took := take(s, 20*time.Millisecond, l, "rls1:{dead}:fixed_window:3600")
		if call.Err == nil || took > 20*time.Millisecond+slack {
			t.Fatalf("a dead Redis: error %v after %v", call.Err, took)
		}
	}
	if s.Stats().BreakersOpen == 0 {
		t.Error("the breaker is closed")
	}
	server.Restart()
	back := time.Now()
	wait(t, s, l)
	if took := time.Since(back); took > 5*time.Second { // 250 ms and a little, on a machine that is not busy
		t.Errorf("whole again %v after Redis was back", took)
	}
	if s.Stats().ScriptReloads == 0 {
		t.Error("a new Redis lacks the script, and no run brought it along")
	}
}

// FAULTS R6: NOSCRIPT in the middle of the load is no error to anyone.
func TestScriptFlush(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 1_000_000)
	wait(t, s, l)
	admin := server.Client()
	var failed, done atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				call, _ := take(s, 5*time.Second, l, "rls1:{flush}:fixed_window:3600")
				if call.Err != nil {
					failed.Add(1)
				}
				done.Add(1)
			}
		})
	}
	for done.Load() < 1600 && t.Context().Err() == nil {
		admin.MustDo(t, "SCRIPT", "FLUSH")
		time.Sleep(2 * time.Millisecond)
	}
	group.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d calls failed", failed.Load())
	}
	call, _ := take(s, time.Second, l, "rls1:{flush}:fixed_window:3600")
	if used := 1_000_000 - call.Items[0].Verdict.Remaining; used != 1601 {
		t.Errorf("%d hits charged, want 1601", used)
	}
}

// FAULTS R3: callers in a hurry cost no connections.
func TestImpatientCallersBehindASlowLink(t *testing.T) {
	server := redistest.Start(t)
	link := newLink(t, server.Addr)
	link.delay.Store(int64(10 * time.Millisecond))
	s := open(t, Options{Addrs: []string{link.addr}})
	l := perHour(t, 1_000_000)
	wait(t, s, l)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 100 {
				take(s, 5*time.Millisecond, l, "rls1:{slow}:fixed_window:3600")
			}
		})
	}
	group.Wait()
	if n := link.accepted.Load(); n >= 50 {
		t.Errorf("2000 calls opened %d connections", n)
	}
	if s.Stats().BreakersOpen > 0 {
		t.Error("callers in a hurry opened the breaker")
	}
}

// A reply that is lost, or cut in the middle, leaves its call uncertain, and is
// not asked again: one hit at most is charged for it.
func TestLostReplyIsNotAskedAgain(t *testing.T) {
	for _, how := range []string{"drop", "cut"} {
		t.Run(how, func(t *testing.T) {
			server := redistest.Start(t)
			link := newLink(t, server.Addr)
			s := open(t, Options{Addrs: []string{link.addr}, Lanes: 1})
			l := perHour(t, 1000)
			wait(t, s, l)
			key := fmt.Sprintf("rls1:{lost|how=%s}:fixed_window:3600", how)
			link.spoil.Store(how)
			call, took := take(s, 50*time.Millisecond, l, key)
			if call.Err == nil || took > 50*time.Millisecond+slack {
				t.Fatalf("error %v after %v", call.Err, took)
			}
			link.spoil.Store("")
			wait2 := time.Now()
			for {
				call, _ = take(s, 100*time.Millisecond, l, key)
				if call.Err == nil {
					break
				}
				if time.Since(wait2) > 5*time.Second {
					t.Fatalf("the link is whole, but calls still fail: %v", call.Err)
				}
			}
			asked := server.Client().Get(t, key)
			state, err := buckets.ParseState(buckets.FixedWindow, asked)
			if err != nil {
				t.Fatal(err)
			}
			if state.Count > 2+uint64(time.Since(wait2)/(100*time.Millisecond)) {
				t.Errorf("%d hits charged", state.Count)
			}
		})
	}
}

func TestErrorsOfRedisByKind(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client()
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 1000)
	wait(t, s, l)

	admin.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
	call, _ := take(s, time.Second, l, "rls1:{oom|user=secret}:fixed_window:3600")
	if kindOf(call) != buckets.KindMemory {
		t.Errorf("a full Redis: %v", call.Err)
	}
	if call.Err != nil && strings.Contains(call.Err.Error(), "secret") {
		t.Errorf("the error names a key: %v", call.Err)
	}
	admin.MustDo(t, "CONFIG", "SET", "maxmemory", "0")

	admin.MustDo(t, "REPLICAOF", "127.0.0.1", "1")
	call, _ = take(s, time.Second, l, "rls1:{replica}:fixed_window:3600")
	if kindOf(call) != buckets.KindReadonly {
		t.Errorf("a replica: %v", call.Err)
	}
	admin.MustDo(t, "REPLICAOF", "NO", "ONE")
	wait(t, s, l)
	if s.Stats().BreakersOpen > 0 {
		t.Error("answers of Redis opened the breaker")
	}
}

// A foreign value is replaced and counted, a newer layout's never.
func TestForeignAndNewerValues(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client()
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 10)
	wait(t, s, l)
	const text, list, cut, newer = "rls1:{text}:fixed_window:3600", "rls1:{list}:fixed_window:3600",
		"rls1:{cut}:fixed_window:3600", "rls1:{newer}:fixed_window:3600"
	admin.MustDo(t, "SET", text, "42")
	admin.MustDo(t, "RPUSH", list, "a")
	admin.MustDo(t, "SET", cut, "\x01\x02\x00")
	admin.MustDo(t, "SET", newer, "\x02whatever")
	for _, key := range []string{text, list, cut} {
		call, _ := take(s, time.Second, l, key)
		if call.Err != nil || call.Items[0].Verdict.Remaining != 9 {
			t.Errorf("%s: error %v, verdict %+v", key, call.Err, call.Items[0].Verdict)
		}
		if ttl := admin.MustDo(t, "PTTL", key).(int64); ttl <= 0 {
			t.Errorf("%s: TTL %d", key, ttl)
		}
	}
	if n := s.Stats().Foreign; n != 3 {
		t.Errorf("%d foreign values counted, want 3", n)
	}
	call, _ := take(s, time.Second, l, newer)
	if kindOf(call) != buckets.KindLayout {
		t.Errorf("a newer layout: %v", call.Err)
	}
	if got := string(admin.Get(t, newer)); got != "\x02whatever" {
		t.Errorf("the newer value became %q", got)
	}
}

// FAULTS R4, R5, A13: every key expires, and not later than its bucket is fresh.
func TestR4R5A13EveryKeyExpires(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client()
	s := open(t, Options{Addrs: []string{server.Addr}})
	for _, a := range buckets.Algorithms() {
		l := &buckets.Limit{Algorithm: a, Amount: 10, WindowMicros: 60_000_000, Burst: 10}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		key := string((&buckets.Keyer{}).Append(nil, "d", []buckets.Entry{{Key: "k", Value: "v"}}, nil, l))
		call, _ := take(s, 5*time.Second, l, key)
		if call.Err != nil {
			t.Fatal(call.Err)
		}
		longest := int64(60_000)
		switch a {
		case buckets.SlidingWindowCounter:
			longest = 120_000
		case buckets.TokenBucket, buckets.LeakyBucket, buckets.GCRA:
			longest = 6_000
		}
		if ttl := admin.MustDo(t, "PTTL", key).(int64); ttl <= 0 || ttl > longest {
			t.Errorf("%v: TTL %d ms, at most %d", a, ttl, longest)
		}
	}
}

func TestStartsBeforeRedis(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	s := open(t, Options{Addrs: []string{server.Addr}})
	l := perHour(t, 10)
	if call, _ := take(s, 20*time.Millisecond, l, "k"); call.Err == nil || s.Answered() {
		t.Errorf("no Redis, but error %v, answered %v", call.Err, s.Answered())
	}
	server.Restart()
	for deadline := time.Now().Add(5 * time.Second); !s.Answered(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the store does not notice that Redis is there")
		}
	}
}

func TestUnixSocket(t *testing.T) {
	path := t.TempDir() + "/redis.sock"
	redistest.Start(t, "--unixsocket", path)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{Network: "unix", Addrs: []string{path}})
	if call := wait(t, s, perHour(t, 10)); call.Err != nil {
		t.Error(call.Err)
	}
}
