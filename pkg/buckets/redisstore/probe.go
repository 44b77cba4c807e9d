package redisstore

import (
	"context"
	"strings"
	"time"
)

// probeEvery is how often a server is asked whether it is back; an answer
// within probePatience counts.
const (
	probeEvery    = 250 * time.Millisecond
	probePatience = 250 * time.Millisecond
)

// probe asks a server until it has answered once, and whenever its breaker is
// open. It has a connection of its own, so that one that hangs does not hide a
// server that is back; the lanes then dial anew, for it may be another server
// that answers.
func (n *node) probe() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		if !n.store.answered.Load() || n.breaker.isOpen.Load() {
			err := n.ping()
			if alive(err) {
				if n.breaker.isOpen.Load() { // else runs are slow at most: a busy start
					for _, l := range n.lanes {
						l.stale.Store(true)
						l.abort(probePatience)
					}
				}
				n.recovered()
			} else {
				n.store.warnings.say(n.store.opt.Logger, "Redis "+n.name+" does not answer yet", storeError(err))
				// Nobody else looks for its successor: calls are not sent any more.
				n.store.topology.suspect()
			}
		}
		select {
		case <-tick.C:
		case <-n.closing:
			return
		}
	}
}

// ping asks on a connection of its own.
func (n *node) ping() error {
	client := n.store.opt.client(probePatience, n.resolve, nil)
	defer client.Close()
	return client.Ping(context.Background()).Err()
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
