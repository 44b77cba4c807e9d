package buckets

import (
	"fmt"
	"slices"
)

// sliding_window_log: the exact sliding window. Each charged call is kept with
// its time, and the hits in (now−W, now] are what is in use. Memory grows with
// the amount, which therefore ends at [MaxLogAmount].
//
// State: Log, oldest first, and Count, the sum of its hits.
//
// Lua twin: lua/sliding_window_log.lua.
var slidingWindowLog = spec{
	name:     "sliding_window_log",
	prepare:  prepareLog,
	advance:  logAdvance,
	used:     func(s State, _ *Limit) uint64 { return s.Count },
	charge:   logCharge,
	refund:   logRefund,
	giveBack: logGiveBack,
	freshIn: func(s State, l *Limit) int64 {
		if len(s.Log) == 0 {
			return 0
		}
		return s.Log[len(s.Log)-1].Time + l.WindowMicros - s.now
	},
	resetAllowed: func(s State, l *Limit) int64 {
		if len(s.Log) == 0 {
			return 0
		}
		return s.Log[0].Time + l.WindowMicros - s.now
	},
	roomIn: logRoomIn,
}

func prepareLog(l *Limit) error {
	if l.Amount > MaxLogAmount {
		return fmt.Errorf("sliding_window_log keeps every call and ends at an amount of %d; use sliding_window_counter", MaxLogAmount)
	}
	return nil
}

func logAdvance(s State, l *Limit, now int64, _ *Bounds) State {
	w := l.WindowMicros
	// Times rise along the log. Those too far ahead are a fault, read as now;
	// the newest of the others may be ahead of now, and then is the bucket's now.
	sound := len(s.Log)
	for sound > 0 && s.Log[sound-1].Time-now > w {
		sound--
	}
	if sound > 0 {
		now = max(now, s.Log[sound-1].Time)
	}
	s.mended = sound < len(s.Log)
	if s.mended {
		s.Log = slices.Clone(s.Log)
		for i := sound; i < len(s.Log); i++ {
			s.Log[i].Time = now
		}
	}
	left := 0
	for left < len(s.Log) && s.Log[left].Time <= now-w {
		s.Count = drain(s.Count, s.Log[left].Hits)
		left++
	}
	if s.Log = s.Log[left:]; len(s.Log) == 0 {
		s.Count = 0
	}
	s.now = now
	return s
}

func logCharge(s State, l *Limit, hits uint64) State {
	if hits = fill(s.Count, hits, l.maxUsed()) - s.Count; hits > 0 {
		s.Log = append(s.Log, Hit{s.now, hits})
		s.Count += hits
	}
	return s
}

// logRefund takes from the newest entries first.
func logRefund(s State, _ *Limit, hits uint64) State {
	log := slices.Clone(s.Log)
	hits = min(hits, s.Count)
	s.Count -= hits
	for hits > 0 && len(log) > 0 {
		newest := &log[len(log)-1]
		taken := min(newest.Hits, hits)
		newest.Hits -= taken
		hits -= taken
		if newest.Hits == 0 {
			log = log[:len(log)-1]
		}
	}
	s.Log = log
	return s
}

// logGiveBack drops the newest entry of that time and cost, if it is there.
func logGiveBack(s State, _ *Limit, hits uint64, atMicros int64) State {
	for i := len(s.Log) - 1; i >= 0 && s.Log[i].Time >= atMicros; i-- {
		if s.Log[i] == (Hit{atMicros, hits}) {
			s.Log = slices.Delete(slices.Clone(s.Log), i, i+1)
			s.Count = drain(s.Count, hits)
			return s
		}
	}
	return s
}

func logRoomIn(s State, l *Limit, hits uint64) int64 {
	over := s.Count + hits - l.Amount
	for _, hit := range s.Log {
		if hit.Hits >= over {
			return hit.Time + l.WindowMicros - s.now
		}
		over -= hit.Hits
	}
	return 0
}
