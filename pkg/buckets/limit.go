package buckets

import (
	"errors"
	"fmt"
	"strconv"
)

// Align says where the windows of a fixed_window limit begin.
type Align uint8

const (
	// AlignEpoch starts windows at multiples of their length since 1970.
	AlignEpoch Align = iota
	// AlignFirstHit starts a window at the first charged hit.
	AlignFirstHit
	// AlignCalendar starts windows at the days, weeks, months or years of a
	// time zone; see [Calendar].
	AlignCalendar
)

// Bounds of what a limit may say.
const (
	// MaxWindowMicros is the longest window: ten years of 365 days.
	MaxWindowMicros = 10 * 365 * 24 * 3600 * 1_000_000
	// MaxAmount is the largest amount and burst.
	MaxAmount = 1<<32 - 1
	// MaxLogAmount is the largest amount of a sliding_window_log.
	MaxLogAmount = 10_000
	// MaxGCRAPerSecond is the largest rate of gcra, whose emission interval is
	// whole microseconds.
	MaxGCRAPerSecond = 1_000_000

	maxMicros = 1 << 52 // durations saturate here: 142 years
	maxCount  = 1 << 52 // unbounded counts saturate here
)

// Limit is everything an algorithm needs to know about what it enforces.
// Fill the exported fields, call Prepare once, and share it freely after that:
// it is never written again.
type Limit struct {
	Algorithm    Algorithm
	Amount       uint64    // L: hits a window, at most MaxAmount; 0 never fits
	WindowMicros int64     // W: 1 second to MaxWindowMicros; nominal for AlignCalendar
	Burst        uint64    // B: capacity of token_bucket, leaky_bucket, gcra; 0 = the algorithm's default
	RefillMicros int64     // token_bucket: length of a refill step; 0 = continuous
	Align        Align     // fixed_window only
	Calendar     *Calendar // set if and only if Align is AlignCalendar

	// Unbounded lets charged hits count past twice the amount, as
	// envoyproxy/ratelimit's counters do: fixed_window only, dropped by Prepare
	// elsewhere.
	Unbounded bool

	capacity       uint64 // B or L
	stepHits       uint64 // token_bucket with RefillMicros: hits that flow back in a step
	emissionMicros int64  // gcra: T, the time one hit takes
}

// Prepare checks the limit and derives what the algorithms need. An error says
// what is out of range and what to write instead.
func (l *Limit) Prepare() error {
	if l.Algorithm == 0 || int(l.Algorithm) > len(algorithms) {
		return fmt.Errorf("unknown algorithm %d", l.Algorithm)
	}
	if l.Amount > MaxAmount || l.Burst > MaxAmount {
		return fmt.Errorf("amounts and bursts end at %d", uint64(MaxAmount))
	}
	if l.WindowMicros < 1_000_000 || l.WindowMicros > MaxWindowMicros {
		return errors.New("a window lasts from one second to ten years")
	}
	if (l.Align == AlignCalendar) != (l.Calendar != nil) {
		return errors.New("a calendar goes with calendar windows, and only with them")
	}
	l.Unbounded = l.Unbounded && l.Algorithm == FixedWindow
	if l.Burst == 0 {
		l.Burst = l.Amount
		if l.Algorithm == LeakyBucket {
			l.Burst = 1
		}
	}
	l.capacity = l.Amount
	if l.spec().hasBurst {
		l.capacity = l.Burst
	}
	return l.spec().prepare(l)
}

// Capacity is the number of hits an untouched bucket admits at once: the burst
// of token_bucket, leaky_bucket and gcra, the amount of the windows.
func (l *Limit) Capacity() uint64 { return l.capacity }

// RefillHits is how many hits a step of RefillMicros brings back; 0 if the bucket
// has no steps.
func (l *Limit) RefillHits() uint64 { return l.stepHits }

// maxUsed is how far charged hits may fill a bucket: one capacity past full.
func (l *Limit) maxUsed() uint64 {
	if l.Unbounded {
		return maxCount
	}
	return 2 * l.capacity
}

// Clamp bounds a cost to what still tells all verdicts apart, so that sums
// never leave the range of exact numbers.
func (l *Limit) Clamp(hits uint64) uint64 {
	if l.Unbounded {
		return min(hits, maxCount)
	}
	return min(hits, 2*max(l.capacity, l.Amount)+1)
}

// AppendIdentity appends the part of a bucket's identity that the limit gives:
// algorithm, window and alignment, never the amount. Two limits with equal
// identities on the same entries share a bucket.
func (l *Limit) AppendIdentity(dst []byte) []byte {
	dst = append(dst, l.spec().name...)
	dst = append(dst, ':')
	if l.Align == AlignCalendar {
		return l.Calendar.appendIdentity(dst)
	}
	dst = strconv.AppendInt(dst, l.WindowMicros/1_000_000, 10)
	if rest := l.WindowMicros % 1_000_000; rest != 0 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, rest+1_000_000, 10)
	}
	if l.Align == AlignFirstHit {
		dst = append(dst, ":first_hit"...)
	}
	if l.RefillMicros != 0 {
		dst = append(dst, ":refill="...)
		dst = strconv.AppendInt(dst, l.RefillMicros, 10)
	}
	return dst
}

// SameIdentity tells whether two limits on the same entries would share a
// bucket.
func (l *Limit) SameIdentity(other *Limit) bool {
	var a, b [96]byte
	return string(l.AppendIdentity(a[:0])) == string(other.AppendIdentity(b[:0]))
}

func (l *Limit) spec() *spec { return &algorithms[l.Algorithm-1] }
