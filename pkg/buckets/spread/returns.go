package spread

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

const (
	// maxReturns bounds the give-backs that wait.
	maxReturns = 65536
	// returnTries and returnEvery bound how long one is tried.
	returnTries = 4
	returnEvery = 250 * time.Millisecond
	// returnBudget is how long one run of give-backs may take.
	returnBudget = 2 * time.Second
	returnBatch  = 256
)

// returns delivers give-backs in the background, many in one run.
type returns struct {
	places    Places
	returned  func(key []byte) // not nil
	delivered atomic.Uint64
	lost      atomic.Uint64

	mu     sync.Mutex
	queue  []giveBack
	wake   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

type giveBack struct {
	item  buckets.Item
	tries int
}

func newReturns(places Places, returned func(key []byte)) *returns {
	if returned == nil {
		returned = func([]byte) {}
	}
	r := &returns{places: places, returned: returned, wake: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.done.Go(r.run)
	return r
}

func (r *returns) close() {
	r.cancel()
	r.done.Wait()
}

// add queues give-backs. Their keys are copied.
func (r *returns) add(items []buckets.Item) {
	r.mu.Lock()
	for _, item := range items {
		if len(r.queue) >= maxReturns {
			r.lost.Add(1)
			continue
		}
		item.Key = append([]byte(nil), item.Key...)
		r.queue = append(r.queue, giveBack{item: item})
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *returns) take() []giveBack {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), returnBatch)
	batch := append([]giveBack(nil), r.queue[:n]...)
	r.queue = append(r.queue[:0], r.queue[n:]...)
	return batch
}

func (r *returns) run() {
	for {
		batch := r.take()
		if len(batch) == 0 {
			select {
			case <-r.wake:
				continue
			case <-r.ctx.Done():
				return
			}
		}
		if again := r.deliver(batch); len(again) > 0 {
			r.done.Go(func() { r.later(again) })
		}
	}
}

// deliver sends a batch and returns what may be sent again.
func (r *returns) deliver(batch []giveBack) (again []giveBack) {
	pieces := make([]Piece, len(batch))
	for i := range batch {
		call := &buckets.Call{Items: []buckets.Item{batch[i].item}}
		pieces[i] = Piece{r.places.Place(&batch[i].item), call}
	}
	r.places.Run(r.ctx, returnBudget, pieces)
	for i := range batch {
		r.returned(batch[i].item.Key)
		switch err := pieces[i].Call.Err; {
		case err == nil:
			r.delivered.Add(1)
		case surelyNotRun(err) && batch[i].tries+1 < returnTries:
			batch[i].tries++
			again = append(again, batch[i])
		default:
			r.lost.Add(1)
		}
	}
	return again
}

// later queues give-backs again after a pause.
func (r *returns) later(again []giveBack) {
	select {
	case <-time.After(returnEvery):
	case <-r.ctx.Done():
		r.lost.Add(uint64(len(again)))
		return
	}
	r.mu.Lock()
	r.queue = append(r.queue, again...)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// surelyNotRun tells whether a failed call left no trace. One whose answer was
// lost may have run.
func surelyNotRun(err error) bool {
	failed, ok := errors.AsType[*buckets.StoreError](err)
	if !ok {
		return false
	}
	switch failed.Kind {
	case buckets.KindTimeout, buckets.KindCanceled, buckets.KindConnection, buckets.KindScript, buckets.KindClosed:
		return false
	}
	return true
}
