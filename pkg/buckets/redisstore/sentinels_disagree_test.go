package redisstore

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// opinion is what a sentinel says.
type opinion struct {
	master string
	epoch  int // of the failover that it knows; -1 = it does not tell
	after  time.Duration
}

// oracle is a sentinel that says what a test wants.
type oracle struct {
	addr string
	says atomic.Pointer[opinion]
}

func newOracle(t *testing.T, says opinion) *oracle {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{addr: listener.Addr().String()}
	o.says.Store(&says)
	var running sync.WaitGroup
	var conns sync.Map
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Store(conn, nil)
			running.Go(func() { o.serve(conn); conn.Close() })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		running.Wait()
	})
	return o
}

// serve answers commands. Lines that are no word it knows, the lengths among them,
// it passes over: each command ends with the name of the master or a channel.
func (o *oracle) serve(conn net.Conn) {
	in, last := bufio.NewScanner(conn), ""
	for in.Scan() {
		switch word := strings.ToLower(in.Text()); word {
		case "hello", "ping":
			io.WriteString(conn, "-ERR unknown command\r\n")
		case "get-master-addr-by-name", "master":
			last = word
		case switchMaster:
			fmt.Fprintf(conn, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(switchMaster), switchMaster)
		case redistest.MasterName:
			says := o.says.Load()
			time.Sleep(says.after)
			io.WriteString(conn, says.reply(last))
		}
	}
}

func (o *opinion) reply(command string) string {
	host, port, _ := net.SplitHostPort(o.master)
	switch {
	case command == "get-master-addr-by-name":
		return fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
	case o.epoch < 0:
		return "-NOPERM this user has no permissions to run the 'sentinel|master' command\r\n"
	default:
		epoch := fmt.Sprint(o.epoch)
		return fmt.Sprintf("*2\r\n$12\r\nconfig-epoch\r\n$%d\r\n%s\r\n", len(epoch), epoch)
	}
}

// Old and new are both there and take themselves for masters, as when the old one
// was cut off: its sentinels must not win, and not for long while others are slow.
func TestSentinelsDisagree(t *testing.T) {
	before, after := redistest.Start(t), redistest.Start(t)
	replica := redistest.Start(t)
	follow(t, replica, after)
	gone := redistest.Start(t)
	gone.Kill()
	at := func(server *redistest.Server, epoch int) opinion { return opinion{master: server.Addr, epoch: epoch} }
	slow := func(o opinion) opinion { o.after = 2 * othersPatience; return o }
	for _, test := range []struct {
		name string
		say  []opinion
		want *redistest.Server // nil = nobody
	}{
		{"one is behind", []opinion{at(before, 1), at(after, 2), at(after, 2)}, after},
		{"one leads", []opinion{at(before, 1), at(before, 1), at(after, 2)}, after},
		{"split in two", []opinion{at(before, 1), at(after, 2)}, after},
		{"a new master that is gone", []opinion{at(before, 1), at(gone, 2), at(gone, 2)}, nil},
		{"epochs unknown", []opinion{at(before, -1), at(after, -1), at(after, -1)}, after},
		{"epochs unknown, most name a replica", []opinion{at(after, -1), at(replica, -1), at(replica, -1)}, after},
		{"one of them never set up", []opinion{at(before, 0), at(before, 0), at(after, 7)}, after},
		{"those who know are slow", []opinion{at(before, 1), slow(at(after, 2)), slow(at(after, 2))}, after},
	} {
		t.Run(test.name, func(t *testing.T) {
			opt := Options{Kind: Sentinel, Master: redistest.MasterName}
			for _, says := range test.say {
				opt.Addrs = append(opt.Addrs, newOracle(t, says).addr)
			}
			s, l := open(t, opt), perHour(t, 1_000_000)
			if test.want == nil {
				for range 20 {
					if call, _ := take(s, 50*time.Millisecond, l, "rls1:{stale}:fixed_window:3600"); call.Err == nil {
						t.Fatal("the old master decided")
					}
				}
				return
			}
			awaitDecisionsOf(t, s, test.want)
		})
	}
}

// Sentinels change their mind while nobody hears of it: all connections follow.
func TestUnheardFailover(t *testing.T) {
	before, after := redistest.Start(t), redistest.Start(t)
	opt := Options{Kind: Sentinel, Master: redistest.MasterName}
	var oracles []*oracle
	for range 3 {
		oracles = append(oracles, newOracle(t, opinion{before.Addr, 1, 0}))
		opt.Addrs = append(opt.Addrs, oracles[len(oracles)-1].addr)
	}
	s := open(t, opt)
	awaitDecisionsOf(t, s, before)
	for _, o := range oracles[1:] {
		o.says.Store(&opinion{after.Addr, 2, 0})
	}
	awaitDecisionsOf(t, s, after)
}

// awaitDecisionsOf waits until a server decides all of a row of calls, long enough
// to have used each connection.
func awaitDecisionsOf(t *testing.T, s *Store, server *redistest.Server) {
	t.Helper()
	const callers, each, key = 4, 25, "rls1:{whose}:fixed_window:3600"
	l, read := perHour(t, 1_000_000), reader(server)
	charged := func() uint64 {
		state, _ := buckets.ParseState(buckets.FixedWindow, read(t, key)) // none yet counts nothing
		return state.Count
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		before := charged()
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for range each {
					take(s, time.Second, l, key)
					time.Sleep(time.Millisecond)
				}
			})
		}
		if group.Wait(); charged()-before == callers*each {
			return
		}
	}
	t.Fatalf("%s does not decide", server.Addr)
}
