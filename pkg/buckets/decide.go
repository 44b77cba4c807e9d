package buckets

// Bucket is a bucket under decision: a store fills State in, and takes it back
// if Written.
type Bucket struct {
	State State
	// Written says that the state changed and must be stored.
	Written bool
	// FreshAtMicros, of a written bucket, is when it will equal a fresh one: it
	// may be dropped from then on, and must be if that is not after now.
	FreshAtMicros int64

	before State
}

// Decide decides one call. slots[i] is the index in table of the bucket of
// item i; items of one bucket share an index. It fills the answer of the call in
// and leaves the new states in table.
//
// Verdicts come first, in order, each on the state that those before it leave.
// If the call is denied, everything is undone and a second pass charges what is
// charged in any case, refunds, and tells those with room what is left
// uncharged.
//
// Lua twins: lua/plain.lua for the calls of most runs, lua/mixed.lua for any.
func Decide(call *Call, table []Bucket, slots []int, now int64) {
	for i := range table {
		table[i].before, table[i].Written = table[i].State, false
	}
	call.AtMicros, call.Err = now, nil
	enforced, quota, quotaDenied := false, 0, 0
	for i := range call.Items {
		item := &call.Items[i]
		first(item, &table[slots[i]], now)
		switch {
		case item.Role == Quota && (item.Op == Take || item.Op == Look):
			quota++
			if !item.Verdict.Allowed {
				quotaDenied++
			}
		case item.Role == Enforced && !item.Verdict.Allowed:
			enforced = true
		}
	}
	call.Denied = enforced || quota > 0 && quota == quotaDenied
	if !call.Denied {
		return
	}
	for i := range table {
		table[i].State, table[i].Written = table[i].before, false
	}
	for i := range call.Items {
		again(&call.Items[i], &table[slots[i]], now)
	}
}

// first gives the verdict of an item and does what an allowed call does.
func first(item *Item, b *Bucket, now int64) {
	l, sp := item.Limit, item.Limit.spec()
	s := sp.advance(b.State, l, now, item.Bounds)
	v := Verdict{Allowed: true}
	switch item.Op {
	case Take, Look:
		v.Allowed = sp.used(s, l)+item.Hits <= l.Capacity()
		v.Charged = item.Op == Take && (v.Allowed || item.Charged)
		if v.Charged {
			s = sp.charge(s, l, item.Hits)
		}
	default:
		s, v.Charged = giveBack(item, s)
	}
	b.keep(s, l, v.Charged)
	item.Verdict = tell(item, s, v, now)
}

// again is the second pass of a denied call. What the first told a denied item
// stands: its wait counts the items before it of the same bucket, as the next
// try of the call will.
func again(item *Item, b *Bucket, now int64) {
	l, sp := item.Limit, item.Limit.spec()
	v := Verdict{Allowed: item.Verdict.Allowed}
	s := sp.advance(b.State, l, now, item.Bounds)
	switch {
	case item.Op == Refund || item.Op == GiveBack:
		s, v.Charged = giveBack(item, s)
	case item.Op == Take && item.Charged:
		v.Charged = true
		s = sp.charge(s, l, item.Hits)
	}
	b.keep(s, l, v.Charged)
	item.Verdict.Charged = v.Charged
	if v.Allowed {
		item.Verdict = tell(item, s, v, now)
	}
}

// giveBack takes hits out of a bucket and tells whether that changed it.
func giveBack(item *Item, s State) (State, bool) {
	l, sp := item.Limit, item.Limit.spec()
	after := s
	if item.Op == Refund {
		after = sp.refund(s, l, item.Hits)
	} else {
		after = sp.giveBack(s, l, item.Hits, item.AtMicros)
	}
	changed := after.Count != s.Count || after.Prev != s.Prev || after.Time != s.Time
	return after, changed
}

// keep leaves a state to the items after it, if it was written: one that was
// only aged is aged anew by each item, whose amount may be another. A time that
// was a fault is written even by a look, for it would be read as now again and
// again, and the bucket would never age.
func (b *Bucket) keep(s State, l *Limit, charged bool) {
	if charged || s.mended {
		b.State, b.Written = s, true
		b.FreshAtMicros = s.now + l.spec().freshIn(s, l)
	}
}

// tell completes a verdict from the state it leaves. Times are told from the
// store's now, which a bucket's own may be ahead of.
func tell(item *Item, s State, v Verdict, now int64) Verdict {
	l, sp := item.Limit, item.Limit.spec()
	used, capacity := sp.used(s, l), l.Capacity()
	v.Remaining = capacity - min(used, capacity)
	v.AtMicros = s.now
	switch {
	case v.Allowed && sp.resetAllowed != nil:
		v.ResetMicros = sp.resetAllowed(s, l)
	case v.Allowed:
		v.ResetMicros = sp.freshIn(s, l)
	case item.Hits > capacity && sp.fullIn != nil:
		v.ResetMicros = sp.fullIn(s, l)
	case item.Hits > capacity:
		v.ResetMicros = sp.freshIn(s, l)
	case used+item.Hits > capacity:
		v.ResetMicros = sp.roomIn(s, l, item.Hits)
	}
	v.ResetMicros += s.now - now
	return v
}
