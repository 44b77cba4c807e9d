package redisstore

import (
	"context"
	"net"
	"strings"
)

// switchMaster is the channel on which a sentinel announces a new master.
const switchMaster = "+switch-master"

// follow listens to every sentinel and calls switched when one announces a master
// that is not the one in use. After a failover that somebody ordered, the old
// master goes on as one for seconds: what it is told then is lost.
func (s *sentinels) follow(n *node, switched func()) {
	for _, addr := range s.opt.Addrs {
		n.finished.Go(func() { s.listen(n, addr, switched) })
	}
}

// listen follows one sentinel until the node closes. The client library connects
// anew when the connection breaks.
func (s *sentinels) listen(n *node, addr string, switched func()) {
	client := s.client(addr)
	defer client.Close()
	subscription := client.Subscribe(context.Background(), switchMaster)
	defer subscription.Close()
	messages := subscription.Channel()
	for {
		select {
		case message, open := <-messages:
			if !open {
				return
			}
			if s.announce(message.Payload) {
				switched()
			}
		case <-n.closing:
			return
		}
	}
}

// announce reads "NAME OLDHOST OLDPORT HOST PORT" and tells whether it is news.
func (s *sentinels) announce(payload string) bool {
	words := strings.Fields(payload)
	if len(words) != 5 || words[0] != s.opt.Master {
		return false
	}
	addr := net.JoinHostPort(words[3], words[4])
	s.announced.Store(&addr)
	dialled := s.dialled.Load()
	return dialled == nil || *dialled != addr
}
