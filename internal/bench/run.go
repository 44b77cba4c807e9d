package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Config says what to measure.
type Config struct {
	Addr        string   // HOST:PORT, or the path of a Unix socket
	Domain      string   // of each call
	Descriptors []string // the key of each descriptor of a call, each with one entry
	Keys        int      // how many values each key has
	Exponent    float64  // of Zipf's law by which values are drawn; 0 is evenly
	Hits        uint32   // hits_addend; 0 is left out
	Connections int
	Streams     int     // closed loop: calls outstanding on each connection
	Rate        float64 // open loop: calls a second on all connections; 0 is a closed loop
	Warmup      time.Duration
	Duration    time.Duration
	Timeout     time.Duration // the deadline of each call, which the server is told
	Seed        uint64
	Processes   map[string]int // whose CPU time to tell, by name
	Bound       *Bound         // what each value may be allowed, if that is to be checked

	// Progress is told of the calls of each second while it runs; nil is not.
	Progress func(elapsed time.Duration, calls uint64)
}

// check tells what is out of range.
func (c *Config) check() error {
	switch {
	case c.Addr == "" || c.Domain == "" || len(c.Descriptors) == 0 || slices.Contains(c.Descriptors, ""):
		return errors.New("an address, a domain and keys of descriptors are needed")
	case c.Keys < 1 || c.Connections < 1 || c.Duration <= 0 || c.Warmup < 0 || c.Exponent < 0:
		return errors.New("values, connections and the duration are at least 1, the warm-up and the exponent at least 0")
	case c.Timeout < time.Millisecond || c.Timeout > time.Hour:
		return errors.New("the deadline of a call is from 1ms to 1h")
	case c.Rate < 0 || c.Rate == 0 && c.Streams < 1:
		return errors.New("a closed loop needs at least 1 stream, an open loop a positive rate")
	}
	return nil
}

// answersWithin is how long the last answers are waited for.
const answersWithin = 2 * time.Second

// Run measures. It fails if a connection does; calls that fail are counted.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	requests := newRequests(&c)
	conns, err := dialAll(&c, requests)
	defer func() {
		for _, k := range conns {
			k.net.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	errs := make(chan error, len(conns))
	var running sync.WaitGroup
	for _, k := range conns {
		running.Go(func() {
			loop := k.closed
			if c.Rate > 0 {
				loop = func() error { return k.open(c.Rate / float64(c.Connections)) }
			}
			if err := loop(); !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				errs <- err
			}
		})
	}
	r, err := measure(ctx, &c, func() *tally { return takeAll(conns) }, errs)
	deadline := time.Now().Add(answersWithin)
	for _, k := range conns {
		k.end(deadline)
	}
	running.Wait()
	if err != nil {
		return nil, err
	}
	r.checkBound(&c, func(n int) (allowed uint64) {
		for _, k := range conns {
			allowed += k.allowed[n]
		}
		return allowed
	}, time.Since(begin))
	return r, nil
}

func dialAll(c *Config, r *requests) ([]*conn, error) {
	var conns []*conn
	for n := range c.Connections {
		k, err := dial(c, r, uint64(n))
		if err != nil {
			return conns, err
		}
		conns = append(conns, k)
	}
	return conns, nil
}

// measure waits for the warm-up and counts for the duration.
func measure(ctx context.Context, c *Config, take func() *tally, errs <-chan error) (*Result, error) {
	if err := wait(ctx, c.Warmup, errs); err != nil {
		return nil, err
	}
	before, err := readCPU(c.Processes)
	if err != nil {
		return nil, err
	}
	take()
	total := newTally()
	begin := time.Now()
	for elapsed := time.Duration(0); elapsed < c.Duration; elapsed = time.Since(begin) {
		if err := wait(ctx, min(time.Second, c.Duration-elapsed), errs); err != nil {
			return nil, err
		}
		part := take()
		total.add(part)
		if c.Progress != nil {
			c.Progress(time.Since(begin), part.calls())
		}
	}
	elapsed := time.Since(begin)
	after, err := readCPU(c.Processes)
	if err != nil {
		return nil, err
	}
	return newResult(c, total, elapsed, before, after), nil
}

func wait(ctx context.Context, d time.Duration, errs <-chan error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-errs:
		return fmt.Errorf("a connection failed: %w", err)
	case <-time.After(d):
		return nil
	}
}

func takeAll(conns []*conn) *tally {
	total := newTally()
	for _, k := range conns {
		total.add(k.take())
	}
	return total
}

func readCPU(processes map[string]int) (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	for name, pid := range processes {
		cpu, err := CPU(pid)
		if err != nil {
			return nil, err
		}
		times[name] = cpu
	}
	return times, nil
}
