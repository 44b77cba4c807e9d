package rls

import (
	"context"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// decision is the work on one call. It is reused: its slices keep their memory.
type decision struct {
	limiter *Limiter
	rules   *rules
	domain  *descriptors.Domain // nil if the domain is unknown
	handles *domainHandles
	req     *Request

	marks [][]buckets.Mark // by descriptor: how its entries are named
	picks []pick           // the limits of the call, in the order of descriptors

	call  buckets.Call
	calls [1]*buckets.Call
	sent  []int // by item of call: its pick
	keys  []byte

	failed      *buckets.StoreError // why the store could not decide
	returns     []func()            // give back what the store charged nonetheless
	quotaPasses bool                // a quota limit is known to pass without a store
	denied      bool
	failing     bool  // undecided: a limit matters whose policy is error
	best        *pick // speaks for the call; nil if none does
}

// pick is one limit that applies to a descriptor of the call, and what became
// of it.
type pick struct {
	limit      *descriptors.Limit
	bucket     *buckets.Limit // what is enforced: of limit, or a share of it
	metrics    *LimitMetrics
	descriptor int

	op      buckets.Op
	hits    uint64
	role    buckets.Role
	charged bool // charge also what is denied

	keyFrom, keyTo int // in decision.keys

	verdict buckets.Verdict
	pending bool // a store has yet to give the verdict
	policy  bool // a store policy gave the verdict, or chose who does
	unknown bool // the policy is error: there is no verdict
	bare    bool // passes without a verdict: nothing to show
	denies  bool // it denies the call
}

func (d *decision) begin(l *Limiter, r *rules, domain *descriptors.Domain, req *Request) {
	d.limiter, d.rules, d.domain, d.req = l, r, domain, req
	d.handles = r.unknown
	if domain != nil {
		d.handles = r.domains[domain.Name]
	}
}

func (d *decision) end() {
	clear(d.marks)
	clear(d.picks)
	clear(d.call.Items)
	*d = decision{
		marks: d.marks[:0],
		picks: d.picks[:0],
		call:  buckets.Call{Items: d.call.Items[:0]},
		sent:  d.sent[:0],
		keys:  d.keys[:0],
	}
}

func (d *decision) decide(ctx context.Context, ans *Answer) error {
	if err := d.match(); err != nil {
		return err
	}
	d.replace()
	d.ask(ctx)
	if d.failed != nil {
		d.byPolicy(ctx)
		d.giveBack()
		d.limiter.notice.say(d)
	}
	if !d.req.Look {
		d.count()
	}
	if d.failing {
		return &Error{Kind: Unavailable, Text: "the store of the limits does not answer", Err: d.failed}
	}
	d.answer(ans)
	return nil
}
