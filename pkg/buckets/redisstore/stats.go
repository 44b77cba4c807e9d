package redisstore

import "sync/atomic"

type counters struct {
	dials   atomic.Uint64
	reloads atomic.Uint64
	foreign atomic.Uint64
}

// Stats is a snapshot for metrics. Counters only grow.
type Stats struct {
	Dials         uint64 // connections opened by lanes
	ScriptReloads uint64 // runs that had to bring the script along
	Foreign       uint64 // values overwritten that were not a bucket's state
	BreakerOpens  uint64
	BreakerOpen   bool
	Queued        int // calls that wait for a lane
	Lanes         int
	BusyLanes     int // lanes with a run under way
}

// Stats returns the figures of now.
func (s *Store) Stats() Stats {
	busy := 0
	for _, l := range s.lanes {
		if l.sentAt.Load() != 0 {
			busy++
		}
	}
	return Stats{
		Dials:         s.stats.dials.Load(),
		ScriptReloads: s.stats.reloads.Load(),
		Foreign:       s.stats.foreign.Load(),
		BreakerOpens:  s.breaker.opens.Load(),
		BreakerOpen:   s.breaker.isOpen.Load(),
		Queued:        s.queue.len(),
		Lanes:         len(s.lanes),
		BusyLanes:     busy,
	}
}
