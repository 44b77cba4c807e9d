package bench

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Answer appends to dst the encoded RateLimitResponse to an encoded request, both
// as they are without gRPC's frame.
type Answer func(ctx context.Context, dst, request []byte) ([]byte, error)

// RunInProcess measures decisions without a network: a closed loop of
// Connections·Streams callers in this process, each with an Answer of its own. Addr,
// Rate and Processes mean nothing here; the CPU is that of this process, callers
// included.
func RunInProcess(ctx context.Context, c Config, newAnswer func() Answer) (*Result, error) {
	c.Addr, c.Rate, c.Processes = "this process", 0, map[string]int{"process": os.Getpid()}
	if err := c.check(); err != nil {
		return nil, err
	}
	l := &loop{config: &c, requests: newRequests(&c)}
	if c.Bound != nil {
		l.allowed = make([]atomic.Uint64, c.Keys)
	}
	begin := time.Now()
	var running sync.WaitGroup
	for n := range c.Connections * c.Streams {
		w := &caller{loop: l, answer: newAnswer(), random: rand.New(rand.NewPCG(c.Seed, uint64(n))), tally: newTally()}
		l.callers = append(l.callers, w)
		running.Go(func() { w.run(ctx) })
	}
	r, err := measure(ctx, &c, l.take, nil)
	l.stop.Store(true)
	running.Wait()
	if err != nil {
		return nil, err
	}
	r.checkBound(&c, func(n int) uint64 { return l.allowed[n].Load() }, time.Since(begin))
	return r, nil
}

// loop is what all callers share.
type loop struct {
	config   *Config
	requests *requests
	callers  []*caller
	allowed  []atomic.Uint64 // by value; nil if nobody asks
	stop     atomic.Bool
}

// take returns what was counted since it was last called.
func (l *loop) take() *tally {
	total := newTally()
	for _, w := range l.callers {
		w.mu.Lock()
		total.add(w.tally)
		w.tally = newTally()
		w.mu.Unlock()
	}
	return total
}

// caller calls, one call after the other.
type caller struct {
	*loop
	answer Answer
	random *rand.Rand

	mu    sync.Mutex
	tally *tally // guarded by mu
}

func (w *caller) run(ctx context.Context) {
	var request, answer []byte
	for !w.stop.Load() && ctx.Err() == nil {
		var key int
		request, key = w.requests.append(request[:0], w.random)
		begin := time.Now()
		limited, cancel := context.WithTimeout(ctx, w.config.Timeout)
		encoded, err := w.answer(limited, append(answer[:0], make([]byte, frame)...), request[frame:])
		cancel()
		done := call{intended: begin, status: "0"}
		if err != nil {
			done.status = err.Error()
		} else {
			answer = encoded
			done.data = setFrame(encoded)
		}
		w.mu.Lock()
		allowed := w.tally.count(&done, len(w.config.Descriptors))
		w.mu.Unlock()
		if allowed && w.allowed != nil {
			w.allowed[key].Add(uint64(max(1, w.config.Hits)))
		}
	}
}
