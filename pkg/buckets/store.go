package buckets

import (
	"context"
	"time"
)

// Op is what a call does with one bucket.
type Op uint8

const (
	// Take asks for hits, and charges them if the call is allowed.
	Take Op = iota
	// Look asks whether hits would be allowed and writes nothing.
	Look
	// Refund gives hits back. It always passes, never fills a bucket beyond
	// full, and never creates or lengthens one.
	Refund
	// GiveBack undoes a Take of this server that was charged at AtMicros: a
	// refund less what may have flowed back since. Windows take it only into the
	// window of the charge, the log only out of that very entry. See
	// [Item.GiveBack].
	GiveBack
)

// Role is what a denial by a bucket means for the call.
type Role uint8

const (
	// Enforced limits deny the call.
	Enforced Role = iota
	// Shadow limits never do, nor do they hold back others.
	Shadow
	// Quota limits deny the call only if all quota limits of the call deny.
	Quota
)

// Item is one bucket of a call: what to do with it, and the answer.
type Item struct {
	Key   []byte // the bucket, as a [Keyer] names it; only read during Decide
	Limit *Limit // prepared

	// Hits is the cost, already clamped by [Limit.Clamp]. For a Look, the
	// hits asked about: 1, or 0 to ask only whether the bucket is overdrawn.
	Hits uint64
	Op   Op
	Role Role
	// Charged records a Take whether or not there is room and whether or not
	// the call is allowed.
	Charged bool
	// AtMicros is, for a GiveBack, the bucket's time of the charge.
	AtMicros int64
	// Bounds are the three windows around now, for AlignCalendar only.
	Bounds *Bounds

	Verdict Verdict // filled by the store
}

// GiveBack is the item that undoes the charge that item's verdict tells of.
func (item Item) GiveBack() Item {
	item.Op, item.AtMicros = GiveBack, item.Verdict.AtMicros
	item.Verdict = Verdict{}
	return item
}

// Verdict is one limit's answer.
type Verdict struct {
	// Allowed says there was room for the cost when the item's turn came.
	Allowed bool
	// Charged says that the cost is now recorded in the bucket.
	Charged bool
	// Remaining is how many hits would be admitted now.
	Remaining uint64
	// ResetMicros is, when allowed, the time until the bucket is as new (the
	// log: until its oldest entry leaves); when denied, the time after which
	// the same cost is allowed if nobody else comes. It is rounded up.
	ResetMicros int64
	// AtMicros is the bucket's own time of the decision: what a GiveBack of the
	// charge has to carry.
	AtMicros int64
	// Unasked says that the call was denied without this bucket: it is Allowed,
	// and nothing else is known.
	Unasked bool
}

// Call is a list of buckets that are decided together: all or nothing.
type Call struct {
	Items []Item

	// Filled by the store.
	Denied   bool  // an Enforced item denied, or all Quota items did
	AtMicros int64 // the store's time of the decision
	Err      error // a *[StoreError] if the store could not decide; then no Verdict means anything
	// Return, if Err is set and Return is not nil, gives back what the call has
	// charged in places that did answer. Whoever decides the call in the store's
	// stead calls it, once, unless the call passes.
	Return func()
}

// Store keeps the states of buckets and decides calls on them.
type Store interface {
	// Decide decides each call atomically and independently of the others and
	// fills its answer in. It takes a list so that several calls can share one
	// round trip.
	//
	// It returns within budget, also when the store behind it does not answer:
	// such a call has Err set, and may or may not have been charged. It may
	// return earlier when ctx is done. Decide does not keep references to calls
	// or keys after it returned. It is safe for concurrent use.
	Decide(ctx context.Context, budget time.Duration, calls []*Call)

	// Close ends background work; calls after it fail with KindClosed.
	Close() error
}

// ErrorKind says in one word why a store could not decide; it is a metric
// label.
type ErrorKind string

const (
	KindTimeout    ErrorKind = "timeout"    // no answer within the budget
	KindCanceled   ErrorKind = "canceled"   // the caller left
	KindConnection ErrorKind = "connection" // dialling, reading or writing failed
	KindBreaker    ErrorKind = "breaker"    // not asked: the breaker is open
	KindOverload   ErrorKind = "overload"   // not asked: the queue is full
	KindReadonly   ErrorKind = "readonly"
	KindMemory     ErrorKind = "oom"
	KindLoading    ErrorKind = "loading"
	KindAuth       ErrorKind = "auth"
	KindCluster    ErrorKind = "cluster" // CLUSTERDOWN, MOVED and the like
	KindLayout     ErrorKind = "layout"  // a newer release's state is in the way
	KindScript     ErrorKind = "script"  // any other error of the script
	KindClosed     ErrorKind = "closed"
)

// StoreError is why a store could not decide. Its text names no key.
type StoreError struct {
	Kind ErrorKind
	Err  error // may be nil
}

func (e *StoreError) Error() string {
	if e.Err == nil {
		return "store: " + string(e.Kind)
	}
	return "store: " + string(e.Kind) + ": " + e.Err.Error()
}

func (e *StoreError) Unwrap() error { return e.Err }
