package redisstore

import (
	"context"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// maxKeysPerRun bounds what a lane sends at once, and with it how long Redis
// serves nobody else. A single call with more is run alone.
const maxKeysPerRun = 64

// Waits between attempts to connect.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 250 * time.Millisecond
)

// lane owns a connection and what is on its way on it.
type lane struct {
	node   *node
	client atomic.Pointer[redis.Client] // replaced by its own goroutine only
	conn   atomic.Pointer[net.Conn]
	stale  atomic.Bool // dial anew before the next run

	sentAt atomic.Int64 // start of the run under way, in ns since start; 0 = idle

	batch []*pending
	runs  []run // one script run each
}

func newLane(n *node) *lane {
	l := &lane{node: n}
	l.renew()
	return l
}

// renew drops the connection: the next run dials anew.
func (l *lane) renew() {
	s := l.node.store
	old := l.client.Swap(s.opt.client(s.opt.IOTimeout, l.node.resolve, func(conn net.Conn) {
		l.conn.Store(&conn)
		s.stats.dials.Add(1)
	}))
	if old != nil {
		old.Close()
	}
}

// run serves the queue until it is closed.
func (l *lane) run() {
	backoff := firstBackoff
	defer func() { l.client.Load().Close() }()
	maxKeys := maxKeysPerRun
	if l.node.store.opt.CallByCall {
		maxKeys = 1 // a call is taken whole
	}
	for {
		l.batch = l.node.queue.take(l.batch[:0], maxKeys)
		if len(l.batch) == 0 {
			return
		}
		if l.stale.Swap(false) && !l.node.isClosed() {
			l.renew()
		}
		if l.decide() {
			backoff = firstBackoff
			continue
		}
		select {
		case <-time.After(backoff/2 + rand.N(backoff)):
		case <-l.node.closing:
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// abort ends a run that hangs, by its connection, if it has lasted longer than
// patience.
func (l *lane) abort(patience time.Duration) {
	sentAt := l.sentAt.Load()
	if sentAt == 0 || l.node.store.since()-sentAt < int64(patience) {
		return
	}
	if conn := l.conn.Load(); conn != nil {
		(*conn).Close()
	}
}

// decide sends the batch and hands the answers out. It is false if the
// connection failed.
func (l *lane) decide() bool {
	s := l.node.store
	l.pack()
	begin := s.since()
	l.sentAt.Store(begin)
	l.send()
	l.sentAt.Store(0)
	elapsed := time.Duration(s.since() - begin)
	var broken *buckets.StoreError
	for i := range l.runs {
		r := &l.runs[i]
		waitedFrom := r.calls[0].queuedAt // deliver gives the calls away
		err := r.deliver(s)
		if r.err != nil && !isReply(r.err) {
			broken = err
		}
		if s.opt.Observe != nil {
			// The first of a run has waited longest: the queue keeps its order.
			trip := RoundTrip{Waited: time.Duration(begin - waitedFrom), Took: elapsed, Calls: len(r.calls)}
			if err != nil {
				trip.Kind = string(err.Kind)
			}
			s.opt.Observe(trip)
		}
		if err != nil {
			l.node.settle(r, err)
		}
	}
	clear(l.batch)
	if broken != nil {
		l.node.failed(broken)
		return false
	}
	l.node.recovered()
	return true
}

// pack sorts the batch into script runs: one for all calls, or in a cluster one
// for each slot.
func (l *lane) pack() {
	for i := range l.runs {
		l.runs[i].reset()
	}
	l.runs = l.runs[:0]
	slotted := l.node.store.topology.slotted()
	for _, p := range l.batch {
		l.runFor(p, slotted).add(p, l.node.store.seed)
	}
	for i := range l.runs {
		l.runs[i].close(l.node.store)
	}
}

func (l *lane) runFor(p *pending, slotted bool) *run {
	for i := range l.runs {
		r := &l.runs[i]
		if !slotted || r.slot == p.slot && r.ask == p.ask && !r.lone && !p.lone {
			return r
		}
	}
	if len(l.runs) < cap(l.runs) {
		l.runs = l.runs[:len(l.runs)+1]
	} else {
		l.runs = append(l.runs, run{})
	}
	r := &l.runs[len(l.runs)-1]
	r.slot, r.ask, r.lone = p.slot, p.ask, p.lone
	return r
}

// send runs the scripts, in one round trip. Where a server lacks the script,
// nothing ran: it gets the text instead of the hash. EVAL also loads it, and
// needs no right to SCRIPT LOAD.
func (l *lane) send() {
	ctx := context.Background()
	l.exchange(ctx, func(*run) bool { return true })
	lacking := false
	for i := range l.runs {
		lacking = lacking || isNoScript(l.runs[i].err)
	}
	if !lacking {
		return
	}
	l.node.store.stats.reloads.Add(1)
	l.exchange(ctx, func(r *run) bool {
		if !isNoScript(r.err) {
			return false
		}
		r.args[0], r.args[1] = "eval", l.node.store.script
		return true
	})
}

// exchange sends the chosen runs and reads their answers.
func (l *lane) exchange(ctx context.Context, choose func(*run) bool) {
	if len(l.runs) == 1 && !l.runs[0].ask {
		if r := &l.runs[0]; choose(r) {
			r.cmd = redis.NewCmd(ctx, r.args...)
			r.err = l.client.Load().Process(ctx, r.cmd)
		}
		return
	}
	pipe := l.client.Load().Pipeline()
	for i := range l.runs {
		r := &l.runs[i]
		if !choose(r) {
			continue
		}
		if r.ask {
			pipe.Do(ctx, "asking")
		}
		r.cmd = redis.NewCmd(ctx, r.args...)
		r.sent = true
		_ = pipe.Process(ctx, r.cmd) // queues; never fails
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i := range l.runs {
		if r := &l.runs[i]; r.sent {
			r.sent, r.err = false, r.cmd.Err()
			// Where the connection broke, go-redis says so of all commands, also of
			// those whose replies had come.
			if r.cmd.Val() != nil {
				r.err = nil
			}
		}
	}
}
