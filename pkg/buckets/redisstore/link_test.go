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
	// spoil is what happens to the next replies: "drop" loses them, "cut"
	// closes the connection in the middle of one.
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
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.accepted.Add(1)
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, client, upstream)
			l.mu.Unlock()
			running.Go(func() { io.Copy(upstream, client); upstream.Close() })
			running.Go(func() { l.replies(client, upstream) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		for _, conn := range l.conns {
			conn.Close()
		}
		l.mu.Unlock()
		running.Wait()
	})
	return l
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
		case "cut":
			client.Write(buf[:n/2])
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
