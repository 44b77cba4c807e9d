package spread

import (
	"context"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Piece is the part of a call that one place decides.
type Piece struct {
	Place int
	Call  *buckets.Call
}

// Places are where buckets lie. Its methods are safe for concurrent use.
type Places interface {
	// Place tells where an item's bucket lies.
	Place(item *buckets.Item) int
	// Run decides pieces side by side, each atomically, within budget: as
	// [buckets.Store.Decide], which says more.
	Run(ctx context.Context, budget time.Duration, pieces []Piece)
}

// Spread decides calls over places.
type Spread struct {
	places  Places
	returns *returns
	denials *denials
}

// New starts a spread over places; Close ends it. returned is told the key of a
// bucket that something was given back to; it may be nil.
func New(places Places, returned func(key []byte)) *Spread {
	return &Spread{places: places, returns: newReturns(places, returned), denials: newDenials()}
}

// Close stops giving back; what has not been given back stays charged.
func (s *Spread) Close() { s.returns.close() }

// Lost counts the give-backs that were not delivered.
func (s *Spread) Lost() uint64 { return s.returns.lost.Load() }

// Delivered counts the give-backs that were.
func (s *Spread) Delivered() uint64 { return s.returns.delivered.Load() }

// Decide decides calls as [buckets.Store.Decide] does.
func (s *Spread) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	var few [4]Piece
	pieces := few[:0]
	var splits []split
	for _, call := range calls {
		if place, one := s.onePlace(call); one {
			pieces = append(pieces, Piece{place, call})
			continue
		}
		var sp split
		sp, pieces = s.split(call, pieces)
		splits = append(splits, sp)
	}
	begin := time.Now()
	s.places.Run(ctx, budget, pieces)
	s.runDeferred(ctx, budget-time.Since(begin), splits, pieces)
	for i := range splits {
		splits[i].join(s, pieces)
	}
}

// onePlace tells whether all items of a call lie in one place, and in which.
func (s *Spread) onePlace(call *buckets.Call) (place int, one bool) {
	for i := range call.Items {
		at := s.places.Place(&call.Items[i])
		if i > 0 && at != place {
			return 0, false
		}
		place = at
	}
	return place, true
}

// split is a call in pieces: from, to in the list of pieces.
type split struct {
	call     *buckets.Call
	from, to int
	where    []position // by item of call
	deferred []int      // pieces that only look, to be charged if all others allow
}

// position is where an item went: which piece, which item of it.
type position struct{ piece, item int }

// split cuts a call by place. Quota limits become shadow limits in the pieces:
// whether all of them deny is known only when all have answered.
func (s *Spread) split(call *buckets.Call, pieces []Piece) (split, []Piece) {
	sp := split{call: call, from: len(pieces)}
	for i := range call.Items {
		item := call.Items[i]
		if item.Role == buckets.Quota {
			item.Role = buckets.Shadow
		}
		place, at := s.places.Place(&call.Items[i]), sp.from
		for at < len(pieces) && pieces[at].Place != place {
			at++
		}
		if at == len(pieces) {
			pieces = append(pieces, Piece{place, new(buckets.Call)})
		}
		piece := pieces[at].Call
		sp.where = append(sp.where, position{at, len(piece.Items)})
		piece.Items = append(piece.Items, item)
	}
	sp.to = len(pieces)
	sp.deferSome(s, pieces)
	return sp, pieces
}

// join makes one answer of those of the pieces, and has given back what a
// denied call charged.
func (sp *split) join(s *Spread, pieces []Piece) {
	call := sp.call
	call.Err, call.Denied, call.AtMicros, call.Return = nil, false, 0, nil
	var undo []func()
	for _, piece := range pieces[sp.from:sp.to] {
		if piece.Call.Err != nil {
			call.Err = piece.Call.Err
		}
		if piece.Call.Return != nil {
			undo = append(undo, piece.Call.Return)
		}
		call.Denied = call.Denied || piece.Call.Denied
		call.AtMicros = max(call.AtMicros, piece.Call.AtMicros)
	}
	quota, quotaDenied := 0, 0
	for i, at := range sp.where {
		item := &call.Items[i]
		item.Verdict = pieces[at.piece].Call.Items[at.item].Verdict
		if item.Role == buckets.Quota && (item.Op == buckets.Take || item.Op == buckets.Look) {
			quota++
			if !item.Verdict.Allowed {
				quotaDenied++
			}
		}
	}
	call.Denied = call.Denied || quota > 0 && quota == quotaDenied
	sp.finish(s, pieces, undo)
}

// finish has given back what must not stay charged, or says how to.
func (sp *split) finish(s *Spread, pieces []Piece, undo []func()) {
	call, charged := sp.call, sp.charged(pieces)
	switch {
	case call.Err != nil:
		call.Return = func() {
			s.returns.add(charged)
			for _, f := range undo {
				f()
			}
		}
	case call.Denied:
		s.returns.add(charged)
		sp.uncharge()
		sp.note(s)
	case len(sp.deferred) > 0:
		sp.note(s)
	}
}

// note remembers which buckets denied, and forgets those that did not.
func (sp *split) note(s *Spread) {
	for i := range sp.call.Items {
		if item := &sp.call.Items[i]; item.Role != buckets.Shadow {
			s.denials.note(item.Key, !item.Verdict.Allowed)
		}
	}
}

// charged lists the give-backs for what a call charged that it only may if it is
// allowed.
func (sp *split) charged(pieces []Piece) []buckets.Item {
	var back []buckets.Item
	for i, at := range sp.where {
		item := &sp.call.Items[i]
		answered := pieces[at.piece].Call.Err == nil
		if answered && item.Op == buckets.Take && !item.Charged && item.Verdict.Charged {
			back = append(back, item.GiveBack())
		}
	}
	return back
}

// uncharge tells those with room what remains once their cost is back.
func (sp *split) uncharge() {
	for i := range sp.call.Items {
		item := &sp.call.Items[i]
		v := &item.Verdict
		if item.Op == buckets.Take && !item.Charged && v.Charged {
			v.Charged = false
			v.Remaining = min(v.Remaining+item.Hits, item.Limit.Capacity())
		}
	}
}
