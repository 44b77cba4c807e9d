package redisstore

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link is a TCP link to a server that can be slow or spoil replies.
type link struct {
	addr     string
	accepted atomic.Int64
	delay    atomic.Int64 // of each reply, in ns
	server   atomic.Value // its address; new connections lead there
	// spoil is what happens to the next replies: "drop" loses them, "drop once"
	// one of them, "cut" closes the connection in the middle of one, "close"
	// before one; "mute" accepts connections that lead nowhere.
	spoil atomic.Value

	mu    sync.Mutex
	conns []net.Conn
}

func newLink(t testing.TB, server string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: listener.Addr().String()}
	l.spoil.Store("")
	l.server.Store(server)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.accepted.Add(1)
			if l.spoil.Load() == "mute" {
				l.keep(client)
				continue
			}
			upstream, err := net.Dial("tcp", l.server.Load().(string))
			if err != nil {
				client.Close()
				continue
			}
			l.keep(client, upstream)
			running.Go(func() { io.Copy(upstream, client); upstream.Close() })
			running.Go(func() { l.replies(client, upstream) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.hangUp()
		running.Wait()
	})
	return l
}

func (l *link) keep(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conns...)
}

// hangUp closes all connections.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

func (l *link) replies(client, upstream net.Conn) {
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(l.delay.Load()))
		switch l.spoil.Load() {
		case "drop":
			continue
		case "drop once":
			if l.spoil.CompareAndSwap("drop once", "") {
				continue
			}
		case "cut":
			client.Write(buf[:n/2])
			return
		case "close":
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
