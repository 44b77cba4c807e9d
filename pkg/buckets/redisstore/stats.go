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
	GivenBack     uint64 // charges of denied calls given back to other slots
	GiveBacksLost uint64 // those that were not
	BreakerOpens  uint64
	BreakersOpen  int // servers not being asked
	Servers       int
	Queued        int // calls that wait for a lane
	Lanes         int
	BusyLanes     int // lanes with a run under way
}

// Stats returns the figures of now. BreakerOpens may shrink when a node leaves
// a cluster.
func (s *Store) Stats() Stats {
	stats := Stats{
		Dials:         s.stats.dials.Load(),
		ScriptReloads: s.stats.reloads.Load(),
		Foreign:       s.stats.foreign.Load(),
	}
	if s.spread != nil {
		stats.GivenBack = s.spread.Delivered() + s.split.Delivered()
		stats.GiveBacksLost = s.spread.Lost() + s.split.Lost()
	}
	for _, n := range s.topology.nodes() {
		stats.Servers++
		stats.BreakerOpens += n.breaker.opens.Load()
		if n.breaker.isOpen.Load() {
			stats.BreakersOpen++
		}
		stats.Queued += n.queue.len()
		for _, l := range n.lanes {
			stats.Lanes++
			if l.sentAt.Load() != 0 {
				stats.BusyLanes++
			}
		}
	}
	return stats
}
