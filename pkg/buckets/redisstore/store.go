package redisstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/spread"
)

// inVain is the least budget whose end counts against Redis: a caller in a hurry
// says nothing about the store.
const inVain = 10 * time.Millisecond

// Store is a [buckets.Store] on Redis.
type Store struct {
	opt      Options
	script   string
	sha      string
	seed     maphash.Seed
	start    time.Time
	topology topology
	spread   *spread.Spread // over slots; nil where one server decides alone
	split    *spread.Spread // over buckets of one slot, while that migrates
	stats    counters
	warnings warnings

	closing  chan struct{}
	close    sync.Once
	answered atomic.Bool
}

var _ buckets.Store = (*Store)(nil)

// New starts a store. It does not wait for Redis; see [Store.Answered].
func New(opt Options) (*Store, error) {
	if err := opt.fill(); err != nil {
		return nil, err
	}
	quiet()
	script := buckets.Script()
	sum := sha1.Sum([]byte(script))
	s := &Store{
		opt:     opt,
		script:  script,
		sha:     hex.EncodeToString(sum[:]),
		seed:    maphash.MakeSeed(),
		start:   time.Now().Add(-time.Nanosecond),
		closing: make(chan struct{}),
	}
	s.connect()
	return s, nil
}

func (s *Store) connect() {
	switch s.opt.Kind {
	case Cluster:
		many := newCluster(s)
		s.topology = many
		s.spread, s.split = spread.New(slots{s}, s.opt.Returned), spread.New(singles{s}, s.opt.Returned)
		many.start()
	case Sentinel:
		named := &sentinels{opt: &s.opt}
		one := &alone{server: newNode(s, "master "+s.opt.Master, named.master)}
		s.topology, named.switched = one, one.server.redial
		one.server.start()
		named.follow(one.server)
	default:
		one := &alone{server: newNode(s, s.opt.Addrs[0], fixed(s.opt.Addrs[0]))}
		s.topology = one
		one.server.start()
	}
}

// Decide implements [buckets.Store].
func (s *Store) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	if s.spread != nil {
		s.spread.Decide(ctx, budget, calls)
		return
	}
	var few [4]spread.Piece
	pieces := few[:0]
	for _, call := range calls {
		pieces = append(pieces, spread.Piece{Call: call})
	}
	s.run(ctx, budget, pieces)
}

// run sends each piece to the server of its place, which is its slot, and waits
// for all of them.
func (s *Store) run(ctx context.Context, budget time.Duration, pieces []spread.Piece) {
	if budget <= 0 { // the caller is as good as gone: charge it nothing
		for _, piece := range pieces {
			piece.Call.Err = &buckets.StoreError{Kind: buckets.KindTimeout}
		}
		return
	}
	var few [4]*pending
	sent := few[:0]
	for _, piece := range pieces {
		sent = append(sent, s.send(piece))
	}
	timer := newTimer(budget)
	defer freeTimer(timer)
	var gone error
	for i, p := range sent {
		call := pieces[i].Call
		if gone == nil {
			select {
			case <-p.done:
				p.take(call)
				continue
			case <-timer.C:
				gone = &buckets.StoreError{Kind: buckets.KindTimeout}
			case <-ctx.Done():
				gone = &buckets.StoreError{Kind: buckets.KindCanceled, Err: ctx.Err()}
			}
		}
		slot := p.slot
		if !p.abandon() {
			<-p.done
			p.take(call)
			continue
		}
		call.Err = gone
		if ctx.Err() == nil && budget >= inVain {
			s.waitedInVain(slot)
		}
	}
}

// send puts a piece on its way.
func (s *Store) send(piece spread.Piece) *pending {
	p := newPending(piece.Call)
	p.slot = piece.Place
	n := s.topology.node(p.slot)
	switch {
	case s.isClosed():
		p.answer(&buckets.StoreError{Kind: buckets.KindClosed})
	case n == nil:
		s.topology.suspect()
		p.answer(&buckets.StoreError{Kind: buckets.KindCluster, Err: errNoNode})
	default:
		n.send(p)
	}
	return p
}

func (s *Store) waitedInVain(slot int) {
	if n := s.topology.node(slot); n != nil {
		n.failed(&buckets.StoreError{Kind: buckets.KindTimeout})
	}
}

// Answered tells whether Redis has ever answered.
func (s *Store) Answered() bool { return s.answered.Load() }

// Healthy tells whether Redis is being asked: the breaker of a server, of a
// cluster's at least one, is closed. A cluster that lacks one of its nodes still
// decides most calls.
func (s *Store) Healthy() bool {
	if !s.answered.Load() {
		return false
	}
	for _, n := range s.topology.nodes() {
		if !n.breaker.isOpen.Load() {
			return true
		}
	}
	return false
}

// Close fails what waits and ends all background work. Runs under way are cut
// off.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		if s.spread != nil {
			s.spread.Close()
			s.split.Close()
		}
		s.topology.close()
	})
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// since is the monotonic time in ns since the store began; never 0.
func (s *Store) since() int64 { return int64(time.Since(s.start)) }

var timers = sync.Pool{New: func() any { return time.NewTimer(time.Hour) }}

func newTimer(d time.Duration) *time.Timer {
	t := timers.Get().(*time.Timer)
	t.Reset(d)
	return t
}

func freeTimer(t *time.Timer) {
	t.Stop()
	timers.Put(t)
}
