package spread

import (
	"context"
	"errors"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// secondMicros is the window of limits per second.
const secondMicros = 1_000_000

// The places of a pair.
const (
	mainStore = iota
	perSecondStore
)

// Pair is a [buckets.Store] that keeps the buckets of limits with a window of
// one second in a store of their own. Calls that need both are all or nothing
// over both. One of them failing fails only the calls that need it.
type Pair struct {
	spread *Spread
	places pairPlaces
}

var _ buckets.Store = (*Pair)(nil)

// NewPair makes a pair of two stores, which it closes when it is closed. returned
// is as for [New].
func NewPair(main, perSecond buckets.Store, returned func(key []byte)) *Pair {
	places := pairPlaces{mainStore: main, perSecondStore: perSecond}
	return &Pair{New(places, returned), places}
}

// Decide implements [buckets.Store].
func (p *Pair) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	p.spread.Decide(ctx, budget, calls)
}

// Close stops giving back and closes both stores.
func (p *Pair) Close() error {
	p.spread.Close()
	return errors.Join(p.places[mainStore].Close(), p.places[perSecondStore].Close())
}

// Lost counts the give-backs between the two that were not delivered.
func (p *Pair) Lost() uint64 { return p.spread.Lost() }

// Delivered counts the give-backs between the two that were.
func (p *Pair) Delivered() uint64 { return p.spread.Delivered() }

type pairPlaces [2]buckets.Store

func (p pairPlaces) Place(item *buckets.Item) int {
	if item.Limit.WindowMicros == secondMicros {
		return perSecondStore
	}
	return mainStore
}

// Run asks both stores side by side, each for all its pieces at once.
func (p pairPlaces) Run(ctx context.Context, budget time.Duration, pieces []Piece) {
	var few [2][4]*buckets.Call
	calls := [2][]*buckets.Call{few[0][:0], few[1][:0]}
	for _, piece := range pieces {
		calls[piece.Place] = append(calls[piece.Place], piece.Call)
	}
	if len(calls[perSecondStore]) == 0 {
		p[mainStore].Decide(ctx, budget, calls[mainStore])
		return
	}
	if len(calls[mainStore]) == 0 {
		p[perSecondStore].Decide(ctx, budget, calls[perSecondStore])
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p[perSecondStore].Decide(ctx, budget, calls[perSecondStore])
	}()
	p[mainStore].Decide(ctx, budget, calls[mainStore])
	<-done
}
