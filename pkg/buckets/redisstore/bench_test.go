package redisstore

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// BenchmarkHungRedis prints the share of calls that were answered within 5 ms
// of their budget of 15 ms, which is what Envoy's 20 ms leave, and the share
// that the breaker answered at once.
func BenchmarkHungRedis(b *testing.B) {
	server := redistest.Start(b)
	s := open(b, Options{Addrs: []string{server.Addr}})
	l := perHour(b, 1_000_000)
	for !s.Answered() {
		time.Sleep(time.Millisecond)
	}
	server.Signal(syscall.SIGSTOP)
	defer server.Signal(syscall.SIGCONT)
	inTime, atOnce := 0, 0
	for b.Loop() {
		call, took := take(s, 15*time.Millisecond, l, "rls1:{hung}:fixed_window:3600")
		if took <= 20*time.Millisecond {
			inTime++
		}
		if kindOf(call) == buckets.KindBreaker {
			atOnce++
		}
	}
	b.ReportMetric(float64(inTime)/float64(b.N), "in-time")
	b.ReportMetric(float64(atOnce)/float64(b.N), "at-once")
}

// BenchmarkDecide decides calls on a real Redis from 128 callers, as Envoys
// with 4 connections of 32 streams do.
func BenchmarkDecide(b *testing.B) {
	for _, a := range buckets.Algorithms() {
		for _, spread := range []struct {
			name string
			keys int
		}{{"one key", 1}, {"100000 keys", 100_000}} {
			b.Run(fmt.Sprintf("%v/%s", a, spread.name), func(b *testing.B) {
				benchmarkDecide(b, a, spread.keys)
			})
		}
	}
}

func benchmarkDecide(b *testing.B, a buckets.Algorithm, keys int) {
	server := redistest.Start(b)
	s := open(b, Options{Addrs: []string{server.Addr}})
	l := &buckets.Limit{Algorithm: a, Amount: 10_000, WindowMicros: 3600_000_000}
	if err := l.Prepare(); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(64)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var key []byte
		for i := 0; pb.Next(); i++ {
			key = fmt.Appendf(key[:0], "rls1:{k%d}:%v:3600", i*7919%keys, a)
			call := &buckets.Call{Items: []buckets.Item{{Key: key, Limit: l, Hits: 1}}}
			s.Decide(context.Background(), 5*time.Second, []*buckets.Call{call})
			if call.Err != nil {
				b.Error(call.Err)
			}
		}
	})
}
