package redisstore

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

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

// BenchmarkRedisCPU prints what a call costs Redis itself, in µs of CPU, and as a
// ratio to what the common way costs it in the same run: a pipeline of INCRBY and
// EXPIRE for each call.
func BenchmarkRedisCPU(b *testing.B) {
	server := redistest.Start(b)
	for _, a := range buckets.Algorithms() {
		for _, keys := range []int{20_000, 1} {
			b.Run(fmt.Sprintf("%v/%d keys", a, keys), func(b *testing.B) {
				compareRedisCPU(b, server, a, keys)
			})
		}
	}
}

// compareRedisCPU runs both in turn, in short rounds.
func compareRedisCPU(b *testing.B, server *redistest.Server, a buckets.Algorithm, keys int) {
	s := open(b, Options{Addrs: []string{server.Addr}})
	plain := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 32, MaxRetries: -1})
	defer plain.Close()
	l := &buckets.Limit{Algorithm: a, Amount: 10_000, WindowMicros: 3600_000_000}
	if err := l.Prepare(); err != nil {
		b.Fatal(err)
	}
	ours := func(i int) {
		key := fmt.Appendf(nil, "rls1:{k%d}:%v:3600", i%keys, a)
		call := &buckets.Call{Items: []buckets.Item{{Key: key, Limit: l, Hits: 1}}}
		s.Decide(context.Background(), 5*time.Second, []*buckets.Call{call})
		if call.Err != nil {
			b.Error(call.Err)
		}
	}
	theirs := func(i int) {
		pipe, key := plain.Pipeline(), fmt.Sprintf("plain_k%d", i%keys)
		pipe.IncrBy(context.Background(), key, 1)
		pipe.Expire(context.Background(), key, time.Hour)
		if _, err := pipe.Exec(context.Background()); err != nil {
			b.Error(err)
		}
	}
	fromMany(2*keys, ours) // the common case is a bucket that is there
	fromMany(2*keys, theirs)
	var oursMicros, theirsMicros float64
	calls := 0
	for b.Loop() {
		const round = 20_000
		calls += round
		oursMicros += redisCPU(b, server, func() { fromMany(round, ours) })
		theirsMicros += redisCPU(b, server, func() { fromMany(round, theirs) })
	}
	b.ReportMetric(oursMicros/float64(calls), "redis-µs/call")
	b.ReportMetric(oursMicros/theirsMicros, "of-incrby")
	b.ReportMetric(0, "ns/op")
}

// fromMany makes n calls from 128 callers, as Envoys with 4 connections of 32
// streams do. Keys follow each other at random.
func fromMany(n int, call func(i int)) {
	const callers = 128
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range n / callers {
				call(rand.IntN(1 << 30))
			}
		})
	}
	group.Wait()
}

// redisCPU is the CPU time, in µs, that the server uses while do runs.
func redisCPU(b *testing.B, server *redistest.Server, do func()) float64 {
	used := func() float64 {
		total := 0.0
		for line := range strings.Lines(server.Client().MustDo(b, "INFO", "cpu").(string)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_sys" || name == "used_cpu_user" {
				seconds, err := strconv.ParseFloat(value, 64)
				if err != nil {
					b.Fatal(err)
				}
				total += seconds
			}
		}
		return total * 1e6
	}
	before := used()
	do()
	return used() - before
}

// BenchmarkManyLimits decides one call of a thousand limits, the most that a call
// may have, each on a bucket of its own.
func BenchmarkManyLimits(b *testing.B) {
	server := redistest.Start(b)
	s := open(b, Options{Addrs: []string{server.Addr}})
	call := new(buckets.Call)
	for i := range 1000 {
		l := perHour(b, uint64(1_000_000+i))
		call.Items = append(call.Items, buckets.Item{Key: fmt.Appendf(nil, "rls1:{k}:%d", i), Limit: l, Hits: 1})
	}
	for b.Loop() {
		if s.Decide(context.Background(), 5*time.Second, []*buckets.Call{call}); call.Err != nil {
			b.Fatal(call.Err)
		}
	}
}
