package rls

import (
	"context"
	"errors"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// ask has the store decide the limits of the call, all at once.
func (d *decision) ask(ctx context.Context) {
	// Under QUOTA_MODE a descriptor without a limit is a quota that passes.
	d.quotaPasses = d.limiter.opt.Quota && d.limited() < len(d.req.Descriptors)
	for i := range d.picks {
		d.settle(&d.picks[i])
	}
	d.send(ctx, d.limiter.opt.Store, d.limiter.budget(ctx))
}

// limited counts the descriptors that have a limit.
func (d *decision) limited() int {
	n, last := 0, -1
	for i := range d.picks {
		if d.picks[i].descriptor != last {
			n, last = n+1, d.picks[i].descriptor
		}
	}
	return n
}

// settle gives the verdict on what needs no store, unlimited limits and amounts
// of 0, and names the bucket of anything else. The windows of the reference
// profile count also what an amount of 0 denies.
func (d *decision) settle(p *pick) {
	reference := d.limiter.opt.Reference
	switch {
	case p.limit.Unlimited:
		return
	case p.limit.Amount == 0 && !(reference && p.bucket.Algorithm == buckets.FixedWindow):
		p.verdict.Allowed = p.op == buckets.Refund || p.op == buckets.Look && reference
		p.verdict.ResetMicros = p.bucket.WindowMicros
		return
	}
	p.pending = true
	p.keyFrom = len(d.keys)
	d.keys = d.limiter.opt.Keyer.Append(d.keys, d.req.Domain,
		d.req.Descriptors[p.descriptor].Entries, d.marks[p.descriptor], p.bucket)
	p.keyTo = len(d.keys)
}

// send has a store decide the pending limits, and takes the verdicts over.
func (d *decision) send(ctx context.Context, store buckets.Store, budget time.Duration) {
	d.judge()
	d.call.Items, d.sent = d.call.Items[:0], d.sent[:0]
	for i := range d.picks {
		if d.picks[i].pending {
			d.call.Items = append(d.call.Items, d.item(&d.picks[i]))
			d.sent = append(d.sent, i)
		}
	}
	if len(d.sent) == 0 {
		return
	}
	if d.denied || d.failing {
		d.call.Items = append(d.call.Items, veto(d.call.Items[0]))
	}
	d.call.Err, d.call.Return = nil, nil
	d.calls[0] = &d.call
	store.Decide(ctx, budget, d.calls[:])
	d.receive()
	d.judge()
}

func (d *decision) item(p *pick) buckets.Item {
	item := buckets.Item{
		Key:     d.keys[p.keyFrom:p.keyTo],
		Limit:   p.bucket,
		Hits:    p.bucket.Clamp(p.hits), // anew: a share is smaller
		Op:      p.op,
		Role:    p.role,
		Charged: p.charged,
	}
	if p.role == buckets.Quota && d.quotaPasses {
		item.Role = buckets.Shadow // it cannot deny any more
	}
	if p.bucket.Align == buckets.AlignCalendar {
		item.Bounds = p.bucket.Calendar.Bounds(d.limiter.opt.Now().UnixMicro())
	}
	return item
}

// veto is an item that never passes and leaves no trace. It stands for what was
// decided without the store: the rest of the call is treated as any denied call.
func veto(of buckets.Item) buckets.Item {
	of.Op, of.Role = buckets.Look, buckets.Enforced
	of.Hits = of.Limit.Capacity() + 1
	return of
}

// receive takes the verdicts over. What a store could not decide stays pending;
// the failure to tell is the first one.
func (d *decision) receive() {
	if d.call.Err != nil {
		if d.failed == nil {
			d.failed = storeError(d.call.Err)
		}
		if d.call.Return != nil {
			d.returns = append(d.returns, d.call.Return)
		}
		return
	}
	for i, at := range d.sent {
		d.picks[at].verdict = d.call.Items[i].Verdict
		d.picks[at].pending = false
		d.picks[at].bare = d.picks[at].verdict.Unasked
	}
}

func storeError(err error) *buckets.StoreError {
	if failed, ok := errors.AsType[*buckets.StoreError](err); ok {
		return failed
	}
	return &buckets.StoreError{Kind: buckets.KindScript, Err: err}
}

// judge weighs the verdicts. An enforced limit that is over denies the call, and
// so do the quota limits if all of them are. A limit whose policy is error might
// say either: where that matters, the call fails unless it is denied anyway.
// What is pending counts as passing.
func (d *decision) judge() {
	denied, failing := false, false
	quotas, unknown, passes := 0, 0, d.quotaPasses
	for i := range d.picks {
		p := &d.picks[i]
		switch {
		case p.role == buckets.Enforced:
			denied = denied || !p.verdict.Allowed
			failing = failing || p.unknown
		case p.role == buckets.Quota && p.op != buckets.Refund:
			quotas++
			if p.unknown {
				unknown++
			} else if p.verdict.Allowed {
				passes = true
			}
		}
	}
	quotaDenies := quotas > 0 && unknown == 0 && !passes
	d.denied = denied || quotaDenies
	d.failing = !d.denied && (failing || unknown > 0 && !passes)
	for i := range d.picks {
		p := &d.picks[i]
		p.denies = !p.verdict.Allowed &&
			(p.role == buckets.Enforced || p.role == buckets.Quota && quotaDenies)
	}
}
