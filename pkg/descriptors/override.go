package descriptors

import (
	"errors"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// ErrOverrideUnit is an override whose unit is missing or unknown.
var ErrOverrideUnit = errors.New("the limit of a descriptor has no usable unit: set it to SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR")

// ErrOverrideWindow is an override whose window is too long.
var ErrOverrideWindow = errors.New("the limit of a descriptor has a window of more than ten years: lower its unit_multiplier")

// Override returns the limit that a descriptor's own amount in a window of
// multiplier units makes of l: amount, window and burst are its own; everything
// else stays. Where l's algorithm cannot hold the amount, its nearest kin takes
// over: sliding_window_counter for the log, token_bucket for gcra, continuous
// for stepwise refill, windows from the epoch for calendar ones of a window that
// the calendar lacks. A multiplier of 0 is not given, which means 1.
func (l *Limit) Override(amount uint32, unit Unit, multiplier uint32) (*Limit, error) {
	multiplier = max(1, multiplier)
	switch {
	case unit.Micros() == 0:
		return nil, ErrOverrideUnit
	case int64(multiplier) > buckets.MaxWindowMicros/unit.Micros():
		return nil, ErrOverrideWindow
	}
	over := *l
	over.Amount, over.Unit, over.Multiplier, over.Unlimited = amount, unit, multiplier, false
	b := buckets.Limit{
		Algorithm:    l.Bucket.Algorithm,
		Amount:       uint64(amount),
		WindowMicros: unit.Micros() * int64(multiplier),
		Burst:        uint64(amount),
		RefillMicros: l.Bucket.RefillMicros,
		Align:        l.Bucket.Align,
		Unbounded:    l.Bucket.Unbounded,
	}
	if b.Align == buckets.AlignCalendar {
		if multiplier == 1 {
			b.Calendar = l.Bucket.Calendar.With(unit.String())
		}
		if b.Calendar == nil {
			b.Align = buckets.AlignEpoch
		}
	}
	if b.Prepare() != nil {
		b.RefillMicros = 0
		switch b.Algorithm {
		case buckets.SlidingWindowLog:
			b.Algorithm = buckets.SlidingWindowCounter
		case buckets.GCRA:
			b.Algorithm = buckets.TokenBucket
		}
		if err := b.Prepare(); err != nil {
			return nil, err
		}
	}
	over.Bucket = b
	return &over, nil
}
