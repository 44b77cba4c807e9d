package redisstore

import (
	"context"
	"net"
	"strings"
	"time"
)

// switchMaster is the channel on which a sentinel announces a new master.
const switchMaster = "+switch-master"

// askEvery is how often each sentinel is asked for the master beside: what was
// announced while nobody was connected is never heard.
const askEvery = time.Second

// follow listens to every sentinel and has all connections dialled anew when the
// master is not the one in use any more. After a failover that somebody ordered, the
// old master goes on as one for seconds, and one that was cut off until it is found
// again: what it is told then is lost.
func (s *sentinels) follow(n *node) {
	ctx, cancel := context.WithCancel(context.Background())
	n.finished.Go(func() { <-n.closing; cancel() })
	for _, addr := range s.opt.Addrs {
		n.finished.Go(func() { s.listen(ctx, addr) })
	}
}

// listen follows one sentinel until ctx ends. The client library connects anew
// when the connection breaks.
func (s *sentinels) listen(ctx context.Context, addr string) {
	client := s.client(addr)
	defer client.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })() // nobody waits for one that hangs
	subscription := client.Subscribe(ctx, switchMaster)
	defer subscription.Close()
	messages := subscription.Channel()
	ticks := time.NewTicker(askEvery)
	defer ticks.Stop()
	for {
		select {
		case message, open := <-messages:
			if !open {
				return
			}
			if s.isNews(s.announced(message.Payload)) {
				s.switched()
			}
		case <-ticks.C:
			// One sentinel may be behind: all of them are asked before it is believed.
			if n := s.askOn(ctx, client); s.isNews(n.addr) {
				if addr, err := s.find(ctx); err == nil && s.isNews(addr) {
					s.switched()
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// announced reads the address from "NAME OLDHOST OLDPORT HOST PORT"; "" if it is
// that of another master.
func (s *sentinels) announced(payload string) string {
	words := strings.Fields(payload)
	if len(words) != 5 || words[0] != s.opt.Master {
		return ""
	}
	return net.JoinHostPort(words[3], words[4])
}

// isNews tells whether an address is not that of the master in use.
func (s *sentinels) isNews(addr string) bool {
	dialled := s.dialled.Load()
	return addr != "" && (dialled == nil || *dialled != addr)
}
