package service

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
)

// handshakes is TLS as Envoy speaks it: without a word in ALPN unless its cluster
// says alpn_protocols, which gRPC's own credentials refuse. Failures are told, for
// gRPC says nothing of them.
type handshakes struct {
	config *tls.Config
	log    *slog.Logger
	hints  *throttle
}

func newHandshakes(c *tls.Config, log *slog.Logger) *handshakes {
	return &handshakes{c, log, &throttle{every: time.Minute}}
}

// ServerHandshake runs within the deadline that gRPC has set on the connection. A
// client that only looks whether the port is open is not worth a line.
func (h *handshakes) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn := tls.Server(raw, h.config)
	err := conn.Handshake()
	if err == nil {
		return conn, credentials.TLSInfo{
			State:          conn.ConnectionState(),
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		}, nil
	}
	conn.Close()
	if unlogged, ok := h.allow(err); ok {
		h.log.Warn("a TLS handshake failed", "client", raw.RemoteAddr().String(), "error", err, "hint", handshakeHint(err), "unlogged", unlogged)
	}
	return nil, nil, err
}

func (h *handshakes) allow(err error) (unlogged int64, ok bool) {
	if errors.Is(err, io.EOF) {
		return 0, false
	}
	return h.hints.allow(time.Now())
}

// ClientHandshake is not for servers.
func (h *handshakes) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are a server's")
}

func (h *handshakes) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (h *handshakes) Clone() credentials.TransportCredentials {
	return &handshakes{h.config.Clone(), h.log, h.hints}
}

// OverrideServerName is for clients.
func (h *handshakes) OverrideServerName(string) error { return nil }

// handshakeHint goes by the words of crypto/tls, which has no kinds for most.
func handshakeHint(err error) string {
	text := err.Error()
	for _, known := range []struct{ part, hint string }{
		{"didn't provide a certificate", "GRPC_CLIENT_TLS_CACERT asks clients for a certificate: give Envoy's cluster one, or unset it"},
		{"does not look like a TLS handshake", "a client speaks plain text to a port with TLS: turn TLS on for the cluster in Envoy, or GRPC_SERVER_USE_TLS off"},
		{"unknown authority", "the client's certificate is from none of the authorities in GRPC_CLIENT_TLS_CACERT, or the client does not trust ours"},
		{"unknown certificate authority", "the client does not trust the authority of GRPC_SERVER_TLS_CERT"},
		{"bad certificate", "the client refuses GRPC_SERVER_TLS_CERT: see its trusted authorities and the names it asks for"},
		{"certificate is valid for", "the client's certificate does not hold the name in GRPC_CLIENT_TLS_SAN"},
		{"does not hold", "the client's certificate does not hold the name in GRPC_CLIENT_TLS_SAN"},
		{"expired", "a certificate has ended, or a clock is wrong"},
		{"application protocol", "the client speaks TLS, but not gRPC over HTTP/2: Envoy's cluster needs http2_protocol_options"},
	} {
		if strings.Contains(text, known.part) {
			return known.hint
		}
	}
	return "see whether client and server agree on certificates and versions"
}
