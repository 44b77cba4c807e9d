package lifecycle

import (
	"bytes"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// Protocol is what clients of a port are to speak, within TLS if the port has it.
type Protocol uint8

const (
	HTTP Protocol = iota // HTTP/1
	GRPC                 // HTTP/2 by prior knowledge
)

// spoken is what the first bytes of a client say that it speaks.
type spoken uint8

const (
	unknown spoken = iota
	spokenTLS
	spokenHTTP1
	spokenHTTP2
)

func recognize(first []byte) spoken {
	switch {
	case len(first) >= 2 && first[0] == 0x16 && first[1] == 0x03: // a handshake record of SSL 3 or later
		return spokenTLS
	case bytes.HasPrefix(first, []byte("PRI * HTTP/2")):
		return spokenHTTP2
	}
	for _, method := range []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT "} {
		if bytes.HasPrefix(first, []byte(method)) {
			return spokenHTTP1
		}
	}
	return unknown
}

// hint says what is wrong with what a client speaks to the port; "" is nothing.
func (p *Port) hint(s spoken) string {
	switch {
	case p.TLS && (s == spokenHTTP1 || s == spokenHTTP2):
		return "a client speaks plain text to a port with TLS: turn TLS on in the client, or GRPC_SERVER_USE_TLS or HTTP_SERVER_USE_TLS off"
	case !p.TLS && s == spokenTLS && p.Protocol == GRPC:
		return "a client speaks TLS to a port without: turn TLS off for the cluster in Envoy, or set GRPC_SERVER_USE_TLS=true and a certificate"
	case !p.TLS && s == spokenTLS:
		return "a client speaks TLS to a port without: ask by http://, or set HTTP_SERVER_USE_TLS=true and a certificate"
	case !p.TLS && s == spokenHTTP1 && p.Protocol == GRPC:
		return "a client speaks HTTP/1 to the gRPC port: Envoy's cluster needs http2_protocol_options; /json, health and metrics are on ports of their own"
	case !p.TLS && s == spokenHTTP2 && p.Protocol == HTTP:
		return "a client speaks HTTP/2, perhaps gRPC, to an HTTP port: the rate limit service is on GRPC_PORT"
	}
	return ""
}

// hintEvery is how often a port tells of clients that speak something else.
const hintEvery = time.Minute

// listening looks at the first bytes of each connection, as its server reads them.
type listening struct {
	net.Listener
	port *Port
	log  *slog.Logger
	next atomic.Int64 // when the next hint may be logged, in ns since 1970
}

func (l *listening) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, of: l}, nil
}

func (l *listening) tell(client net.Addr, hint string) {
	now, next := time.Now().UnixNano(), l.next.Load()
	if now < next || !l.next.CompareAndSwap(next, now+int64(hintEvery)) {
		return
	}
	l.log.Warn("a client speaks another protocol than the port", "port", l.port.Name, "addr", l.port.Addr, "client", client.String(), "hint", hint)
}

// connection is read by its server alone.
type connection struct {
	net.Conn
	of *listening // nil once the first bytes are known
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.of != nil && n > 0 {
		if hint := c.of.port.hint(recognize(b[:n])); hint != "" {
			c.of.tell(c.RemoteAddr(), hint)
		}
		c.of = nil
	}
	return n, err
}
