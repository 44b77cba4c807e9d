package redisstore

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/spread"
)

// errNoNode fails calls whose slot no known node has.
var errNoNode = errors.New("no node of the cluster is known to have the slot")

// slots are the places of a cluster: a script decides buckets of one slot.
type slots struct{ store *Store }

func (p slots) Place(item *buckets.Item) int { return slotOf(string(item.Key)) }

// Run decides pieces of one slot each. What a migrating slot cannot decide at
// once is decided bucket by bucket.
func (p slots) Run(ctx context.Context, budget time.Duration, pieces []spread.Piece) {
	begin := time.Now()
	p.store.run(ctx, budget, pieces)
	for _, piece := range pieces {
		if errors.Is(piece.Call.Err, errSplit) {
			p.store.split.Decide(ctx, budget-time.Since(begin), []*buckets.Call{piece.Call})
		}
	}
}

// singles are places of one bucket each.
type singles struct{ store *Store }

func (p singles) Place(item *buckets.Item) int {
	return int(maphash.Bytes(p.store.seed, item.Key) >> 1)
}

func (p singles) Run(ctx context.Context, budget time.Duration, pieces []spread.Piece) {
	bySlot := make([]spread.Piece, len(pieces))
	for i, piece := range pieces {
		bySlot[i] = spread.Piece{Place: slotOf(string(piece.Call.Items[0].Key)), Call: piece.Call}
	}
	p.store.run(ctx, budget, bySlot)
}
