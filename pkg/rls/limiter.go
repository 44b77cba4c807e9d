package rls

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

const (
	// MaxLimitsPerCall bounds the buckets of one call.
	MaxLimitsPerCall = 1000
	// MaxDescriptorsPerCall bounds its descriptors, and MaxEntries the entries of
	// each: Envoy sends a few, and memory goes with them before any rule is asked.
	MaxDescriptorsPerCall = 1000
	MaxEntries            = 1000
)

// Limiter decides calls by the installed rules. It is safe for concurrent use.
type Limiter struct {
	opt       Options
	rules     atomic.Pointer[rules]
	decisions sync.Pool
	notice    notice
	watcher   atomic.Pointer[Watcher]
}

// NewLimiter makes a limiter without rules: until Install, calls fail as
// Unavailable.
func NewLimiter(opt Options) *Limiter {
	l := &Limiter{opt: opt.filled()}
	l.decisions.New = func() any { return new(decision) }
	return l
}

// Install puts a ruleset in force. A call sees one ruleset, the old or the new.
func (l *Limiter) Install(set *descriptors.Ruleset) { l.rules.Store(newRules(set, &l.opt)) }

// Ruleset is the one in force; nil before the first Install.
func (l *Limiter) Ruleset() *descriptors.Ruleset {
	if r := l.rules.Load(); r != nil {
		return r.set
	}
	return nil
}

// Decide decides a call and fills ans in. It fails with an [*Error], and then
// ans means nothing. It returns in time for ctx's deadline also if the store
// does not. Nothing of req is kept.
func (l *Limiter) Decide(ctx context.Context, req *Request, ans *Answer) error {
	return l.decide(ctx, req, ans, nil)
}

// decide is Decide that also shows the decision, once it is made, to see if that
// is not nil.
func (l *Limiter) decide(ctx context.Context, req *Request, ans *Answer, see func(*decision)) error {
	ans.Reset()
	r := l.rules.Load()
	if err := checkRequest(req, r); err != nil {
		return err
	}
	domain := r.set.Domain(req.Domain)
	if err := checkDomain(r.set, domain); err != nil {
		return err
	}
	begin := l.opt.Now()
	d := l.decisions.Get().(*decision)
	d.begin(l, r, domain, req)
	err := d.decide(ctx, ans)
	if err == nil && !req.Look {
		d.handles.Duration(l.opt.Now().Sub(begin))
	}
	if err == nil && see != nil {
		see(d)
	}
	if w := l.watcher.Load(); w != nil && !req.Look {
		d.show(w)
	}
	d.end()
	l.decisions.Put(d)
	return err
}

func checkRequest(req *Request, r *rules) error {
	switch {
	case req.Domain == "":
		return &Error{Kind: Invalid, Text: "the domain must not be empty"}
	case len(req.Descriptors) == 0:
		return &Error{Kind: Invalid, Text: "there must be at least one descriptor"}
	case len(req.Descriptors) > MaxDescriptorsPerCall:
		return &Error{Kind: Invalid, Text: fmt.Sprintf("a call has at most %d descriptors", MaxDescriptorsPerCall)}
	case r == nil:
		return &Error{Kind: Unavailable, Text: "no rules are loaded yet"}
	}
	return nil
}

// checkDomain tells whether the rules of a domain, or that there are none, are
// good enough to decide by. A domain that is unknown lets calls pass, unless a
// rejected file may be its own.
func checkDomain(set *descriptors.Ruleset, domain *descriptors.Domain) error {
	switch {
	case domain != nil && !domain.Usable():
		return &Error{Kind: Unavailable, Text: "the rules of this domain are in error: see the server's log or `envoy-rls check`"}
	case domain == nil && set.UnknownUnavailable:
		return &Error{Kind: Unavailable, Text: "rule files are in error whose domain cannot be told, and it may be this one: see the server's log or `envoy-rls check`"}
	}
	return nil
}

// budget is how long a call may wait for the store.
func (l *Limiter) budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return l.opt.Budget
	}
	left := time.Until(deadline)
	return min(l.opt.Budget, left-min(left/4, 5*time.Millisecond))
}
