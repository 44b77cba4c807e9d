package service_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// Frame types and flags of HTTP/2.
const (
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	flagAck       = 1
)

// Envoy may ping an idle connection every few hundred milliseconds
// (connection_keepalive); the server must not take that for an attack.
func TestFrequentPingsAreAllowed(t *testing.T) {
	t.Parallel()
	_, address := start(t, service.Options{Decider: decide(allow)})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	writeFrame(t, conn, frameSettings, nil)
	for range 6 {
		writeFrame(t, conn, framePing, []byte("envoy-ka"))
		for acked := false; !acked; {
			kind, flags := readFrame(t, conn)
			if kind == frameGoAway {
				t.Fatal("the server ended the connection: too many pings")
			}
			acked = kind == framePing && flags == flagAck
		}
		time.Sleep(250 * time.Millisecond)
	}
}

func writeFrame(t *testing.T, w io.Writer, kind byte, payload []byte) {
	t.Helper()
	frame := append([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 0}, payload...)
	if _, err := w.Write(frame); err != nil {
		t.Fatal(err)
	}
}

func readFrame(t *testing.T, r io.Reader) (kind, flags byte) {
	t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatal(err)
	}
	length := binary.BigEndian.Uint32(head[:4]) >> 8
	if _, err := io.CopyN(io.Discard, r, int64(length)); err != nil {
		t.Fatal(err)
	}
	return head[3], head[4]
}
