package redisstore

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// silent are the errors of a server that does not answer or is not there.
var silent = []buckets.ErrorKind{buckets.KindTimeout, buckets.KindConnection, buckets.KindBreaker}

// What may happen to one server. None of these tests runs beside another: they
// count goroutines, and want the machine.
func TestChaosOnOneServer(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		fault func(t *testing.T, server *redistest.Server) // is over when it returns
		kinds []buckets.ErrorKind
		lost  bool
		dials uint64 // that it may cost at most; 0 = not looked at
	}{
		{name: "Stopped", kinds: silent, fault: func(t *testing.T, server *redistest.Server) {
			server.Signal(syscall.SIGSTOP)
			time.Sleep(3 * time.Second)
			server.Signal(syscall.SIGCONT)
		}},
		{name: "KilledAndRestarted", kinds: silent, lost: true, fault: func(t *testing.T, server *redistest.Server) {
			server.Kill()
			time.Sleep(500 * time.Millisecond)
			server.Restart()
		}},
		{name: "KilledAndRestartedWithData", kinds: append(silent, buckets.KindLoading), args: []string{"--appendonly", "yes", "--appendfsync", "always"},
			fault: func(t *testing.T, server *redistest.Server) {
				server.Kill()
				server.Restart()
			}},
		{name: "ScriptFlush", fault: func(t *testing.T, server *redistest.Server) {
			admin := server.Client()
			for range 20 {
				admin.MustDo(t, "SCRIPT", "FLUSH")
				time.Sleep(10 * time.Millisecond)
			}
		}},
		{name: "ClientKill", kinds: silent, fault: func(t *testing.T, server *redistest.Server) {
			admin := server.Client()
			for range 20 {
				admin.MustDo(t, "CLIENT", "KILL", "TYPE", "normal")
				time.Sleep(20 * time.Millisecond)
			}
		}},
		{name: "OutOfMemory", kinds: []buckets.ErrorKind{buckets.KindMemory}, fault: func(t *testing.T, server *redistest.Server) {
			admin := server.Client()
			admin.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
			time.Sleep(500 * time.Millisecond)
			admin.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
		}},
		{name: "Sleeping", args: []string{"--enable-debug-command", "yes"}, kinds: silent, fault: func(t *testing.T, server *redistest.Server) {
			server.Client().MustDo(t, "DEBUG", "SLEEP", "1")
		}},
		{name: "ReadOnly", dials: 30, kinds: []buckets.ErrorKind{buckets.KindReadonly, buckets.KindConnection}, fault: func(t *testing.T, server *redistest.Server) {
			admin := server.Client()
			admin.MustDo(t, "REPLICAOF", "127.0.0.1", "1")
			time.Sleep(500 * time.Millisecond)
			admin.MustDo(t, "REPLICAOF", "NO", "ONE")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := redistest.Start(t, test.args...)
			s := open(t, Options{Addrs: []string{server.Addr}})
			l := startLoad(t, s, loadKeys(4)...)
			test.fault(t, server)
			l.awaitWhole(time.Now())
			l.check(outcome{read: reader(server), servers: []*redistest.Server{server}, kinds: test.kinds, lost: test.lost})
			if dials := s.Stats().Dials; test.dials > 0 && dials > test.dials {
				t.Errorf("%d connections were dialled", dials)
			}
		})
	}
}

// What may happen to the link to a server.
func TestChaosOnTheLink(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(*link)
		kinds []buckets.ErrorKind
	}{
		{name: "LosesAReply", kinds: silent, fault: func(link *link) { link.spoil.Store("drop once"); time.Sleep(300 * time.Millisecond) }},
		{name: "LosesReplies", kinds: silent, fault: func(link *link) {
			link.spoil.Store("drop")
			time.Sleep(300 * time.Millisecond)
			link.spoil.Store("")
		}},
		{name: "Slow", fault: func(link *link) {
			link.delay.Store(int64(10 * time.Millisecond))
			time.Sleep(time.Second)
			link.delay.Store(0)
		}},
		{name: "TooSlow", kinds: silent, fault: func(link *link) { // slower than callers wait
			link.delay.Store(int64(loadBudget + 50*time.Millisecond))
			time.Sleep(2 * time.Second)
			link.delay.Store(0)
		}},
		{name: "CutsReplies", kinds: silent, fault: func(link *link) {
			for range 10 {
				link.spoil.Store("cut")
				time.Sleep(30 * time.Millisecond)
				link.spoil.Store("")
				time.Sleep(50 * time.Millisecond)
			}
		}},
		{name: "AcceptsAndIsSilent", kinds: silent, fault: func(link *link) {
			link.spoil.Store("mute")
			link.hangUp()
			time.Sleep(time.Second)
			link.spoil.Store("")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := redistest.Start(t)
			link := newLink(t, server.Addr)
			s := open(t, Options{Addrs: []string{link.addr}})
			l := startLoad(t, s, loadKeys(4)...)
			test.fault(link)
			l.awaitWhole(time.Now())
			l.check(outcome{read: reader(server), servers: []*redistest.Server{server}, kinds: test.kinds})
			if n := link.accepted.Load(); n > 60 {
				t.Errorf("%d connections were opened", n)
			}
		})
	}
}

// A replica takes its master's place behind one address, as managed services do:
// the connections that are there lead to what is now a replica.
func TestChaosWhereTheAddressMoves(t *testing.T) {
	old, next := redistest.Start(t), redistest.Start(t)
	link := newLink(t, old.Addr)
	s := open(t, Options{Addrs: []string{link.addr}})
	follow(t, next, old)
	l := startLoad(t, s, loadKeys(4)...)
	next.Client().MustDo(t, "REPLICAOF", "NO", "ONE")
	follow(t, old, next)
	time.Sleep(300 * time.Millisecond) // READONLY
	link.server.Store(next.Addr)
	l.awaitWhole(time.Now())
	l.check(outcome{
		read: reader(next), servers: []*redistest.Server{next}, lostHits: 1000, // what the old one took before it followed
		kinds: append(silent, buckets.KindReadonly, buckets.KindLoading),
	})
}

// follow makes a server the replica of another, and waits until it has its data.
func follow(t *testing.T, server, master *redistest.Server) {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	admin := server.Client()
	admin.MustDo(t, "REPLICAOF", host, port)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if role := admin.MustDo(t, "ROLE").([]any); role[0] == "slave" && role[3] == "connected" {
			return
		}
	}
	t.Fatal("a replica does not get its master's data")
}
