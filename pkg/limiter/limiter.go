package limiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/denied"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Domain is that of the rules: those of [Options.Rules] must name it.
const Domain = "app"

// Limit is a limit for each value of a key.
type Limit struct {
	Key       string        // such as ip or user: what a [Key] gives
	Requests  uint32        // that many
	Per       time.Duration // in such a window, of whole seconds
	Burst     uint32        // at once; 0 = the algorithm's default
	Algorithm string        // "" = token_bucket
	Name      string        // in headers; "" = none
}

// Options say what to limit and where to count.
type Options struct {
	// Limits are enforced all at once: a call passes if each of them that it meets
	// has room, and is charged on all or on none. What is denied is not charged.
	Limits []Limit
	// Rules are further limits in the language of rule files, of the domain app.
	Rules []byte
	// Redis is shared by all processes that limit together; nil counts in this one.
	Redis *redisstore.Options
	// Budget is the longest that a call waits for Redis; 0 = 100 ms.
	Budget time.Duration
	Logger *slog.Logger // nil = none
}

// Limiter decides calls. It is safe for concurrent use; Close ends it.
type Limiter struct {
	rls   *rls.Limiter
	store buckets.Store
}

// Open makes a limiter. It does not wait for Redis. An error says, with the line,
// what is wrong with the limits.
func Open(o Options) (*Limiter, error) {
	files := []descriptors.File{{Name: "Limits", Data: document(o.Limits)}}
	if len(o.Rules) > 0 {
		files = append(files, descriptors.File{Name: "Rules", Data: o.Rules})
	}
	set, problems := descriptors.Compile(files, nil, descriptors.Options{})
	var errs []error
	for i := range problems {
		if problems[i].Severity == descriptors.Error {
			errs = append(errs, errors.New(problems[i].String()))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	store, err := open(o.Redis)
	if err != nil {
		return nil, err
	}
	l := &Limiter{store: store, rls: rls.NewLimiter(rls.Options{
		Store: store, Budget: o.Budget, Logger: o.Logger, Headers: rls.HeaderOptions{XRateLimit: true},
	})}
	l.rls.Install(set)
	return l, nil
}

// open opens the store; on Redis with a memory of what was denied a moment ago.
func open(o *redisstore.Options) (buckets.Store, error) {
	if o == nil {
		return memstore.New(memstore.Options{}), nil
	}
	memory, opt := denied.NewMemory(), *o
	opt.Returned = memory.Forget
	store, err := redisstore.New(opt)
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	return denied.New(store, memory), nil
}

// Close ends the limiter; calls under way fail.
func (l *Limiter) Close() error { return l.store.Close() }

// document writes limits as the rules that they are: those of one key are one rule.
func document(limits []Limit) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "domain: %s\ndefaults: {denied_hits: free}\ndescriptors:", Domain)
	var keys []string
	byKey := map[string][]string{}
	for _, l := range limits {
		if byKey[l.Key] == nil {
			keys = append(keys, l.Key)
		}
		byKey[l.Key] = append(byKey[l.Key], l.rule())
	}
	for _, key := range keys {
		fmt.Fprintf(&b, "\n- key: %q\n  rate_limits:\n  - %s", key, strings.Join(byKey[key], "\n  - "))
	}
	if len(keys) == 0 {
		b.WriteString(" []")
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

func (l *Limit) rule() string {
	seconds := int64(l.Per / time.Second)
	if l.Per%time.Second != 0 {
		seconds = 0 // which the compiler refuses, by name
	}
	text := fmt.Sprintf("{unit: second, unit_multiplier: %d, requests_per_unit: %d", seconds, l.Requests)
	if l.Burst > 0 {
		text += fmt.Sprintf(", burst: %d", l.Burst)
	}
	if l.Algorithm != "" {
		text += fmt.Sprintf(", algorithm: %q", l.Algorithm)
	}
	if l.Name != "" {
		text += fmt.Sprintf(", name: %q", l.Name)
	}
	return text + "}"
}

// Decision is the answer to a call.
type Decision struct {
	Allowed bool
	// Headers are X-RateLimit-Limit, -Remaining and -Reset of the limit that speaks
	// for the call, and Retry-After if it is denied; none if it met no limit.
	Headers []rls.Header
	// Rule names that limit; "" if there is none.
	Rule string
}

// Entry is a key and its value, such as user and ann.
type Entry = descriptors.Entry

// Decide decides a call of a cost: each entry is matched by itself. A cost of 0 is a
// look, which charges nothing. An error says that the store did not answer in time;
// then nobody knows.
func (l *Limiter) Decide(ctx context.Context, cost uint64, entries ...Entry) (Decision, error) {
	if len(entries) == 0 {
		return Decision{Allowed: true}, nil
	}
	req := rls.Request{Domain: Domain}
	for _, e := range entries {
		d := req.AddDescriptor()
		d.Entries = append(d.Entries, e)
		d.HasHits, d.Hits = true, cost
	}
	var ans rls.Answer
	if err := l.rls.Decide(ctx, &req, &ans); err != nil {
		return Decision{}, err
	}
	decision := Decision{Allowed: ans.Code != rls.OverLimit, Headers: ans.ResponseHeaders}
	if ans.Limit != nil {
		decision.Rule = ans.Limit.Label
	}
	return decision, nil
}
