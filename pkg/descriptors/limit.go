package descriptors

import (
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// limits compiles the limits of a node. An error is reported and costs only the
// limit that it is in.
func (b *builder) limits(br *branch) []*Limit {
	if br.limited == nil {
		return nil
	}
	var all []*Limit
	var marks []mark // of all
	for _, written := range br.limited.limits {
		l := b.limit(br, written)
		if l == nil {
			continue
		}
		if b.beside(all, l, written) {
			all, marks = append(all, l), append(marks, written.at)
			b.noteFullStart(br, l, written)
		}
	}
	if len(all) > 1 {
		b.checkIdle(br, all, marks)
	}
	return all
}

// beside tells whether a limit can stand beside those before it on one node.
func (b *builder) beside(others []*Limit, l *Limit, written *limit) bool {
	for _, other := range others {
		switch {
		case other.Unlimited || l.Unlimited:
			b.fail(written.at, "leave one of them out", "unlimited goes with no other limit, such as the one at %s", other.Place)
			return false
		case other.Bucket.SameIdentity(&l.Bucket):
			b.fail(written.at, "keep the stricter one, or give them different windows or algorithms", "this limit would share its bucket with the one at %s: same algorithm and window", other.Place)
			return false
		}
	}
	return true
}

func (b *builder) limit(br *branch, w *limit) *Limit {
	l := &Limit{
		Name:       w.name.value,
		WireName:   wireName(w.name.value),
		Multiplier: w.multiplier.or(1),
		Place:      b.log.place(w.at),
		Shadow:     br.shadow,
		Quota:      br.quota,
	}
	if l.WireName != l.Name {
		b.warn(w.name.at, "use visible ASCII without quotes, commas and semicolons", "the name %s goes out as %s in headers", quoted(l.Name), quoted(l.WireName))
	}
	if w.name.set {
		b.names = append(b.names, limitName{l.Name, w.name.at})
	}
	l.Replaces = b.replaced(w)
	inherited, opt := defaults{}, b.opt
	if d := br.limited.document.defaults; d != nil {
		inherited = *d
	}
	if br.limited.document.decoded {
		opt = b.domain.defaults
	}
	l.DeniedHits = w.deniedHits.or(inherited.deniedHits.or(opt.DeniedHits))
	l.OnStoreError = w.onStoreError.or(inherited.onStoreError.or(opt.OnStoreError))
	algorithm := w.algorithm.or(inherited.algorithm.or(opt.algorithm()))
	if w.unlimited.value {
		// What an override needs is set here too.
		l.Unlimited, l.Bucket = true, buckets.Limit{Algorithm: algorithm, Unbounded: b.opt.Unbounded}
		return b.unlimited(l, w)
	}
	l.Amount, l.Unit = w.amount.value, w.unit.value
	if !b.complete(w) || !b.fits(w, algorithm) {
		return nil
	}
	return b.bucket(l, w, algorithm, inherited.burstPercent.or(opt.BurstPercent))
}

// unlimited holds a limit that says unlimited to nothing but names.
func (b *builder) unlimited(l *Limit, w *limit) *Limit {
	for _, f := range w.numbers() {
		if f.written {
			b.fail(f.at, "leave it out, or leave unlimited out", "%s goes with no unlimited limit", f.name)
			l = nil
		}
	}
	return l
}

// writtenField is a field of a limit, for checks of what goes with what.
type writtenField struct {
	name    string
	at      mark
	written bool
}

func writtenAs[T any](name string, s setting[T]) writtenField {
	return writtenField{name, s.at, s.written()}
}

// numbers are all fields but unlimited and what goes with it.
func (w *limit) numbers() []writtenField {
	return []writtenField{
		writtenAs("unit", w.unit),
		writtenAs("requests_per_unit", w.amount),
		writtenAs("unit_multiplier", w.multiplier),
		writtenAs("algorithm", w.algorithm),
		writtenAs("burst", w.burst),
		writtenAs("refill_interval", w.refill),
		writtenAs("align", w.align),
		writtenAs("time_zone", w.zone),
		writtenAs("denied_hits", w.deniedHits),
		writtenAs("on_store_error", w.onStoreError),
	}
}

// complete tells whether the limit has what it needs and no field of it is in
// error.
func (b *builder) complete(w *limit) bool {
	if !w.unit.written() {
		b.fail(w.at, "add unit: "+oneOf(unitNames), "unit is missing in this rate_limit")
	}
	if !w.amount.written() {
		b.fail(w.at, "add it; 0 must be written too, and lets nothing pass", "requests_per_unit is missing in this rate_limit")
	}
	return w.unit.set && w.amount.set &&
		w.multiplier.set == w.multiplier.written() && w.algorithm.set == w.algorithm.written() &&
		w.burst.set == w.burst.written() && w.refill.set == w.refill.written() &&
		w.align.set == w.align.written() && w.zone.set == w.zone.written()
}

// fits tells whether the algorithm knows all fields that are written.
func (b *builder) fits(w *limit, algorithm buckets.Algorithm) bool {
	fits := true
	only := func(f writtenField, known bool, algorithms string) {
		if f.written && !known {
			hint := "leave it out, or set algorithm: " + algorithms
			b.fail(f.at, hint, "%s has no meaning for %s", f.name, algorithm)
			fits = false
		}
	}
	only(writtenAs("burst", w.burst), algorithm.HasBurst(), oneOf(withBurst()))
	only(writtenAs("refill_interval", w.refill), algorithm == buckets.TokenBucket, buckets.TokenBucket.String())
	only(writtenAs("align", w.align), algorithm == buckets.FixedWindow, buckets.FixedWindow.String())
	if w.zone.written() && w.align.value != buckets.AlignCalendar {
		b.fail(w.zone.at, "add align: calendar", "time_zone goes with calendar windows only")
		fits = false
	}
	return fits
}

func withBurst() []string {
	var names []string
	for _, a := range buckets.Algorithms() {
		if a.HasBurst() {
			names = append(names, a.String())
		}
	}
	return names
}
