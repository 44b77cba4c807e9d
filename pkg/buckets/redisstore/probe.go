package redisstore

import (
	"context"
	"strings"
	"time"
)

// probeEvery is how often Redis is asked whether it is back; an answer within
// probePatience counts.
const (
	probeEvery    = 250 * time.Millisecond
	probePatience = 250 * time.Millisecond
)

// probe asks Redis until it has answered once, and whenever the breaker is
// open. It has a connection of its own, so that one that hangs does not hide a
// Redis that is back.
func (s *Store) probe() {
	client := s.opt.client(probePatience, nil)
	defer client.Close()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		if !s.answered.Load() || s.breaker.isOpen.Load() {
			if alive(client.Ping(context.Background()).Err()) {
				for _, l := range s.lanes {
					l.abort(probePatience)
				}
				s.recovered()
			}
		}
		select {
		case <-tick.C:
		case <-s.closing:
			return
		}
	}
}

// alive takes every answer for a sign of life but those that say "not yet". A
// user without the right to PING is answered, too.
func alive(err error) bool {
	if err == nil {
		return true
	}
	return isReply(err) &&
		!strings.HasPrefix(err.Error(), "LOADING") && !strings.HasPrefix(err.Error(), "MASTERDOWN")
}
