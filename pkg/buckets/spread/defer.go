package spread

import (
	"context"
	"slices"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// deferSome has a call only look at first, if one of its buckets will probably
// deny it: then it charges nothing that would have to be given back. A bucket that
// many denied callers share would else hold their cost for the time of a round
// trip each, and one that drains cannot take all of it back.
func (sp *split) deferSome(s *Spread, pieces []Piece) {
	if !slices.ContainsFunc(sp.call.Items, func(item buckets.Item) bool {
		return item.Role != buckets.Shadow && s.denials.likely(item.Key)
	}) {
		return
	}
	for i := sp.from; i < sp.to; i++ {
		call := pieces[i].Call
		if !onlyFreeTakes(call) {
			continue
		}
		for j := range call.Items {
			call.Items[j].Op = buckets.Look
		}
		sp.deferred = append(sp.deferred, i)
	}
}

// onlyFreeTakes tells whether a piece leaves no trace if it only looks.
func onlyFreeTakes(call *buckets.Call) bool {
	return !slices.ContainsFunc(call.Items, func(item buckets.Item) bool {
		return item.Op != buckets.Take || item.Charged
	})
}

// runDeferred charges the pieces that only looked, where all pieces allowed.
func (s *Spread) runDeferred(ctx context.Context, budget time.Duration, splits []split, pieces []Piece) {
	var again []Piece
	for i := range splits {
		sp := &splits[i]
		if len(sp.deferred) == 0 || !sp.allowed(pieces) {
			continue
		}
		for _, at := range sp.deferred {
			for j := range pieces[at].Call.Items {
				pieces[at].Call.Items[j].Op = buckets.Take
			}
			again = append(again, pieces[at])
		}
	}
	if len(again) > 0 {
		s.places.Run(ctx, budget, again)
	}
}

func (sp *split) allowed(pieces []Piece) bool {
	return !slices.ContainsFunc(pieces[sp.from:sp.to], func(piece Piece) bool {
		return piece.Call.Err != nil || piece.Call.Denied
	})
}
