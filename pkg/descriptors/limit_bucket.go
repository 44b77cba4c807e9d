package descriptors

import (
	"fmt"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// burst is what a limit says, or a share of its amount; 0 leaves it to the algorithm.
func burst(w *limit, algorithm buckets.Algorithm, percent uint32) uint64 {
	if w.burst.set || percent == 0 || !algorithm.HasBurst() {
		return uint64(w.burst.value)
	}
	share := (uint64(w.amount.value)*uint64(percent) + 99) / 100
	return min(share, buckets.MaxAmount)
}

// bucket completes a limit with what the store enforces.
func (b *builder) bucket(l *Limit, w *limit, algorithm buckets.Algorithm, burstPercent uint32) *Limit {
	if most := buckets.MaxWindowMicros / l.Unit.Micros(); int64(l.Multiplier) > most {
		b.fail(w.multiplier.at, fmt.Sprintf("at most %d for unit %s", most, l.Unit), "a window of %d %ss is longer than ten years", l.Multiplier, l.Unit)
		return nil
	}
	l.Bucket = buckets.Limit{
		Algorithm:    algorithm,
		Amount:       uint64(l.Amount),
		WindowMicros: l.Unit.Micros() * int64(l.Multiplier),
		Burst:        burst(w, algorithm, burstPercent),
		RefillMicros: w.refill.value.Microseconds(),
		Align:        w.align.value,
		Unbounded:    b.opt.Unbounded,
	}
	if l.Bucket.Align == buckets.AlignCalendar && !b.calendar(l, w) {
		return nil
	}
	if err := l.Bucket.Prepare(); err != nil {
		at := w.at
		switch {
		case w.refill.written():
			at = w.refill.at
		case w.algorithm.written():
			at = w.algorithm.at
		}
		b.fail(at, "", "%s", err)
		return nil
	}
	if loss := l.Bucket.GCRARoundingLoss(); loss > 1000 {
		b.warn(w.amount.at, "use token_bucket, which is exact", "gcra counts in whole microseconds a hit: this limit admits %d.%d %% less", loss/1000, loss%1000/100)
	}
	b.checkBurst(l, w)
	return l
}

// checkBurst warns of a burst that nothing comes of, or that holds back more than
// the rate does.
func (b *builder) checkBurst(l *Limit, w *limit) {
	if l.Amount == 0 && w.burst.set {
		b.warn(w.burst.at, "leave it out", "burst is without effect: requests_per_unit is 0, which lets nothing pass")
		return
	}
	bucket := &l.Bucket
	if step := bucket.RefillHits(); step > bucket.Capacity() {
		b.warn(w.refill.at, fmt.Sprintf("raise burst to %d, or shorten refill_interval", step),
			"each refill adds %d, but the bucket holds %d: the rest is lost", step, bucket.Capacity())
	}
}

func (b *builder) calendar(l *Limit, w *limit) bool {
	period, ok := buckets.ParsePeriod(l.Unit.String())
	switch {
	case !ok:
		b.fail(w.unit.at, "use unit: day, week, month or year", "there are no calendar windows of unit %s", l.Unit)
		return false
	case l.Multiplier != 1:
		b.fail(w.multiplier.at, "leave it out", "calendar windows are one unit long")
		return false
	}
	calendar, err := buckets.NewCalendar(period, w.zone.value)
	if err != nil {
		b.fail(w.zone.at, "", "%s", err)
		return false
	}
	l.Bucket.Calendar = calendar
	return true
}

// replaced lists the names that a limit replaces, each once.
func (b *builder) replaced(w *limit) []string {
	var all []string
	seen := make(map[string]bool, len(w.replaces))
	for _, name := range w.replaces {
		switch {
		case seen[name.value]:
			b.warn(name.at, "leave it out", "%s is in this list already", quoted(name.value))
		case w.name.set && name.value == w.name.value:
			b.fail(name.at, "leave it out", "the limit %s cannot replace itself", quoted(name.value))
		default:
			all = append(all, name.value)
			b.targets = append(b.targets, replaceTarget{name.value, w.name.value, name.at})
		}
		seen[name.value] = true
	}
	return all
}

// wireName is a name as it may stand in a header that is not escaped.
func wireName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r <= ' ', r >= 0x7f:
			return '_'
		case r == '"', r == '\'', r == '`', r == ',', r == ';', r == '\\':
			return '_'
		}
		return r
	}, name)
}
