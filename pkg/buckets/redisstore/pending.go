package redisstore

import (
	"sync"
	"sync/atomic"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// pending is a call on its way: a copy of what was asked, so that the caller
// may leave at any time. Exactly one of two ends it: the caller, by taking the
// answer, or the store, if the caller has left.
type pending struct {
	call  buckets.Call
	keys  []string
	state atomic.Int32
	done  chan struct{}

	queuedAt int64 // in ns since the store's start

	slot int  // of its buckets, in a cluster
	ask  bool // the slot migrates: say ASKING first
	lone bool // not in one script run with others
	hops int  // how often it was sent to another node
}

const (
	waiting int32 = iota
	left          // the caller gave up
	answered
)

var pendings = sync.Pool{New: func() any { return &pending{done: make(chan struct{}, 1)} }}

func newPending(call *buckets.Call) *pending {
	p := pendings.Get().(*pending)
	p.state.Store(waiting)
	p.call.Items = append(p.call.Items[:0], call.Items...)
	size := 0
	for i := range call.Items {
		size += len(call.Items[i].Key)
	}
	all := make([]byte, 0, size)
	for i := range call.Items {
		all = append(all, call.Items[i].Key...)
	}
	text, from := string(all), 0
	p.keys = p.keys[:0]
	for i := range call.Items {
		to := from + len(call.Items[i].Key)
		p.keys = append(p.keys, text[from:to])
		p.call.Items[i].Key = nil
		from = to
	}
	return p
}

// answer hands the filled call, or err, to the caller, or recycles it.
func (p *pending) answer(err error) {
	if err != nil {
		p.call.Err = err
	}
	if p.state.CompareAndSwap(waiting, answered) {
		p.done <- struct{}{}
		return
	}
	p.recycle()
}

// take copies the answer into the caller's call.
func (p *pending) take(call *buckets.Call) {
	call.Denied, call.AtMicros, call.Err = p.call.Denied, p.call.AtMicros, p.call.Err
	if call.Err == nil {
		for i := range call.Items {
			call.Items[i].Verdict = p.call.Items[i].Verdict
		}
	}
	p.recycle()
}

// abandon leaves p to the store. It is false if the answer has come meanwhile.
func (p *pending) abandon() bool { return p.state.CompareAndSwap(waiting, left) }

func (p *pending) abandoned() bool { return p.state.Load() == left }

func (p *pending) recycle() {
	clear(p.call.Items)
	clear(p.keys)
	p.call = buckets.Call{Items: p.call.Items[:0]}
	p.queuedAt, p.slot, p.ask, p.lone, p.hops = 0, 0, false, false, 0
	pendings.Put(p)
}
