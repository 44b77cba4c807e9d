package descriptors

import (
	"fmt"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// What loads and works as written, but hardly does what is meant. Here are the
// lints that take more than a look at one node; check.go has the others.
//
// Two that one might look for cannot be here, because rules do not say what a
// call costs: a burst below the cost of a call, and a plain cost that
// denied_hits: auto charges to denied calls, too. What a route states is in
// Envoy's configuration.

// besides is a limit that another one of its node leaves nothing to deny.
type besides struct {
	idle, strict       *Limit
	idleMark           mark
	chargedUsageMayTip bool // denied_hits: auto
}

// checkIdle looks for limits of a node that can never be the one that denies.
// Only enforced limits are compared: shadow and quota ones are charged by
// themselves, also where another limit of the call denies.
func (b *builder) checkIdle(br *branch, limits []*Limit, marks []mark) {
	if br.shadow || br.quota {
		return
	}
	for i, idle := range limits {
		for j, strict := range limits {
			// Of two that never differ, the later is idle.
			if i == j || !neverDenies(idle, strict) || i < j && neverDenies(strict, idle) {
				continue
			}
			b.idle = append(b.idle, besides{idle, strict, marks[i], idle.DeniedHits == DeniedAuto || strict.DeniedHits == DeniedAuto})
			break
		}
	}
}

// neverDenies tells whether idle has room in every call in which strict has.
// Where denied calls are charged that cannot be told: they fill idle, too.
func neverDenies(idle, strict *Limit) bool {
	return idle.DeniedHits != DeniedCharged && strict.DeniedHits != DeniedCharged &&
		!idle.Unlimited && !strict.Unlimited && idle.Amount > 0 && strict.Amount > 0 &&
		coversAll(&idle.Bucket, &strict.Bucket)
}

// reportIdle warns of idle limits, but where another limit of the domain may
// drop the strict one from a call: then the idle one is what is left.
func (b *builder) reportIdle() {
	dropped := make(map[string]bool, len(b.targets))
	for _, t := range b.targets {
		dropped[t.to] = true
	}
	for _, w := range b.idle {
		if w.strict.Name != "" && dropped[w.strict.Name] {
			continue
		}
		unless := ""
		if w.chargedUsageMayTip {
			unless = ", unless calls report usage (denied_hits: auto)"
		}
		b.warn(w.idleMark, "leave it out, or make it stricter in the long run", "this limit can never be the one that denies: %s at %s always denies first%s",
			describeRate(w.strict), w.strict.Place, unless)
	}
}

func describeRate(l *Limit) string {
	if l.Multiplier > 1 {
		return fmt.Sprintf("%d in %d %ss", l.Amount, l.Multiplier, l.Unit)
	}
	if l.Unit == Hour {
		return fmt.Sprintf("%d an hour", l.Amount)
	}
	return fmt.Sprintf("%d a %s", l.Amount, l.Unit)
}

// noteFullStart notes, once a document, a long window on a token bucket that
// nobody chose: whoever thinks of a counter is surprised in the first window.
func (b *builder) noteFullStart(br *branch, l *Limit, w *limit) {
	const long = int64(3600) * 1_000_000
	d := br.limited.document
	if !b.opt.Notes || b.opt.Algorithm != 0 || w.algorithm.set || d.defaults != nil && d.defaults.algorithm.set ||
		l.Bucket.Algorithm != buckets.TokenBucket || l.Bucket.WindowMicros < long || w.burst.set || l.Bucket.Burst < uint64(l.Amount) || l.Amount == 0 || b.noted[d] {
		return
	}
	if b.noted == nil {
		b.noted = make(map[*document]bool)
	}
	b.noted[d] = true
	b.log.note(w.at, b.domain.Name,
		fmt.Sprintf("%s on the default token_bucket: a bucket begins full and refills all the time, so that its first %s admits up to %d",
			describeRate(l), windowName(l), 2*uint64(l.Amount)),
		"name an algorithm, here or under defaults, or a smaller burst; windows count what they have had (said once for each document)")
}

func windowName(l *Limit) string {
	if l.Multiplier == 1 {
		return l.Unit.String()
	}
	return "window"
}
