package redisstore

import (
	"context"
	"sync/atomic"
	"time"
)

// topology says which server has a bucket, and learns from what servers answer.
// Its methods are safe for concurrent use.
type topology interface {
	// node returns the server of a slot; nil if none is known.
	node(slot int) *node
	// nodes lists all servers in use.
	nodes() []*node
	// moved learns that a slot is on another server, and returns that.
	moved(slot int, addr string) *node
	// at returns the server at an address: where a slot is migrating to.
	at(addr string) *node
	// suspect is told that a server failed or answered that it is not what we
	// take it for: it is time to look again.
	suspect()
	// slotted tells whether a script may only have keys of one slot.
	slotted() bool
	close()
}

// alone is the topology of one server, or of one master at a time.
type alone struct {
	server  *node
	redials atomic.Int64 // when it was last suspected, in ns since the store began
}

func (a *alone) node(int) *node          { return a.server }
func (a *alone) nodes() []*node          { return []*node{a.server} }
func (a *alone) moved(int, string) *node { return nil }
func (a *alone) at(string) *node         { return nil }
func (a *alone) slotted() bool           { return false }
func (a *alone) close()                  { a.server.close(0) }

// redialAtMost is the shortest time between two such causes to dial anew.
const redialAtMost = 250 * time.Millisecond

// suspect has every connection dialled anew: a name or a sentinel may now lead
// to another server.
func (a *alone) suspect() {
	now, last := a.server.store.since(), a.redials.Load()
	if now-last >= int64(redialAtMost) && a.redials.CompareAndSwap(last, now) {
		a.server.redial()
	}
}

func fixed(addr string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return addr, nil }
}
