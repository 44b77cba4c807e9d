package lifecycle

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A client that speaks something else than the port gets what the server makes of
// it, and the operator one line that says what to change.
func TestWrongProtocol(t *testing.T) {
	t.Parallel()
	const (
		hello   = "\x16\x03\x01\x02\x00\x01"
		preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		http1   = "POST /json HTTP/1.1\r\n"
	)
	for name, c := range map[string]struct {
		port  Port
		first string
		want  string // part of the hint; "" is none
	}{
		"gRPC":                      {Port{Protocol: GRPC}, preface, ""},
		"gRPC over TLS":             {Port{Protocol: GRPC, TLS: true}, hello, ""},
		"HTTP":                      {Port{}, http1, ""},
		"HTTP over TLS":             {Port{TLS: true}, hello, ""},
		"TLS to plain gRPC":         {Port{Protocol: GRPC}, hello, "set GRPC_SERVER_USE_TLS=true"},
		"TLS to plain HTTP":         {Port{}, hello, "set HTTP_SERVER_USE_TLS=true"},
		"HTTP/1 to gRPC":            {Port{Protocol: GRPC}, http1, "http2_protocol_options"},
		"gRPC to HTTP":              {Port{}, preface, "the rate limit service is on GRPC_PORT"},
		"plain gRPC to TLS":         {Port{Protocol: GRPC, TLS: true}, preface, "turn TLS on in the client"},
		"plain HTTP to TLS":         {Port{TLS: true}, http1, "turn TLS on in the client"},
		"what nobody knows":         {Port{Protocol: GRPC}, "\x00\x01\x02\x03", ""},
		"one byte that may be much": {Port{Protocol: GRPC}, "P", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			c.port.Name = "a port"
			got := serveFirst(t, &c.port, &log, c.first, c.first)
			if got != c.first+c.first {
				t.Errorf("the server reads %q", got)
			}
			text := log.String()
			if c.want == "" && text != "" || c.want != "" && (strings.Count(text, "\n") != 1 || !strings.Contains(text, c.want)) {
				t.Errorf("logged %q, want %q once for two clients", text, c.want)
			}
		})
	}
}

// serveFirst has clients say one thing each and returns what the server read.
func serveFirst(t *testing.T, p *Port, log io.Writer, says ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wrapped := &listening{Listener: l, port: p, log: slog.New(slog.NewTextHandler(log, nil))}
	var read strings.Builder
	for _, text := range says {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		client.Close()
		server, err := wrapped.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.SetDeadline(time.Now().Add(10 * time.Second))
		got, err := io.ReadAll(server)
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
		read.Write(got)
	}
	return read.String()
}

// lines is a log that may be written and read at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
