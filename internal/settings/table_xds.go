package settings

import (
	"time"
)

// XDS says how rules are got from a control plane.
type XDS struct {
	Server                    string // host:port
	NodeID                    string
	NodeMetadata              map[string]string
	Headers                   map[string]string
	UseTLS                    bool
	CertFile, KeyFile, CAFile string
	SAN                       string
	ConnectRetry              time.Duration // the first pause after an attempt that found no server
	BackoffInitial            time.Duration // the first pause after a stream
	BackoffMax                time.Duration
	BackoffRandom             float64 // share by which pauses are spread
	MaxMessageBytes           int

	jitter bool
}

func xdsRows(s *Settings) []Row {
	x := &s.Rules.XDS
	return []Row{
		{Name: "CONFIG_GRPC_XDS_NODE_ID", kind: text(&x.NodeID), Default: "default", Help: "Node id toward the xDS server."},
		{Name: "CONFIG_GRPC_XDS_NODE_METADATA", kind: pairs(&x.NodeMetadata, "="), Help: "Node metadata, k=v,k2=v2."},
		{Name: "CONFIG_GRPC_XDS_SERVER_URL", kind: text(&x.Server), Default: "localhost:18000", Help: "host:port of the xDS server."},
		{Name: "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", kind: duration(&x.ConnectRetry, time.Millisecond), Default: "3s", Help: "Time to the next attempt after the first one that cannot connect; each doubles it."},
		{Name: "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", Secret: true, kind: headers(&x.Headers), Help: "Headers to send along, k:v,k2:v2."},
		{Name: "CONFIG_GRPC_XDS_SERVER_USE_TLS", kind: boolean(&x.UseTLS), Default: "false", Help: "Speak TLS with the xDS server. Its files are read anew for each stream."},
		{Name: "CONFIG_GRPC_XDS_CLIENT_TLS_CERT", kind: path(&x.CertFile), Help: "Client certificate for it, in PEM."},
		{Name: "CONFIG_GRPC_XDS_CLIENT_TLS_KEY", kind: path(&x.KeyFile), Help: "Its key."},
		{Name: "CONFIG_GRPC_XDS_SERVER_TLS_CACERT", kind: path(&x.CAFile), Help: "Authorities of the xDS server's certificate, in PEM; the system's if unset."},
		{Name: "CONFIG_GRPC_XDS_SERVER_TLS_SAN", kind: text(&x.SAN), Help: "Name that its certificate must hold: DNS name, address or URI; the host of its URL if unset."},
		{Name: "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", kind: duration(&x.BackoffInitial, time.Millisecond), Default: "10s", Help: "Time from a stream to the next, after the first that ended early; each further one doubles it. A stream that lasted longer is followed by another at once."},
		{Name: "XDS_CLIENT_BACKOFF_MAX_INTERVAL", kind: duration(&x.BackoffMax, time.Millisecond), Default: "60s", Help: "Longest time between attempts."},
		{Name: "XDS_CLIENT_BACKOFF_RANDOM_FACTOR", kind: share(&x.BackoffRandom), Default: "0.5", Help: "Share of a pause by which it is spread, up and down."},
		{Name: "XDS_CLIENT_BACKOFF_JITTER", kind: boolean(&x.jitter), Default: "true", Help: "Whether pauses are spread at all."},
		{Name: "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", kind: integer(&x.MaxMessageBytes, 1, maxInt32), Default: "67108864", Help: "Largest answer of the xDS server."},
	}
}

// deriveXDS completes the settings of xDS, and refuses those that cannot be
// meant.
func (l *loader) deriveXDS(values map[string]given) {
	r := &l.settings.Rules
	x := &r.XDS
	r.FromXDS = r.configType == configXDS
	if !r.FromXDS {
		return
	}
	if !x.jitter {
		x.BackoffRandom = 0
	}
	if (x.CertFile == "") != (x.KeyFile == "") {
		l.refuse("CONFIG_GRPC_XDS_CLIENT_TLS_CERT and CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "", "want both, or neither")
	}
	if x.BackoffMax < x.BackoffInitial {
		l.refuse(nameOf(values, "XDS_CLIENT_BACKOFF_MAX_INTERVAL"), x.BackoffMax.String(), "want at least XDS_CLIENT_BACKOFF_INITIAL_INTERVAL")
	}
	if !x.UseTLS && (x.CertFile != "" || x.CAFile != "" || x.SAN != "") {
		l.warn("CONFIG_GRPC_XDS_SERVER_USE_TLS is false: certificates and names for xDS are not used")
	}
}
