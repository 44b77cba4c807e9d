package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// TLS says how connections are secured. Files are read anew for each
// connection, so that a rotated certificate is used without a restart.
type TLS struct {
	CAFile            string // of the authorities to trust; "" = the system's
	CertFile, KeyFile string // of the client; "" = none
	SkipHostname      bool   // trust a certificate of another name
	SkipVerify        bool   // trust any certificate
}

func (t *TLS) config(addr string) (*tls.Config, error) {
	host, _, _ := net.SplitHostPort(addr)
	cfg := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authorities for Redis: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authorities for Redis: no certificate in %s", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate for Redis: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if t.SkipHostname && !t.SkipVerify {
		skipHostname(cfg)
	}
	return cfg, nil
}

// skipHostname keeps the check of the chain and leaves out that of the name.
func skipHostname(cfg *tls.Config) {
	cfg.InsecureSkipVerify = true
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		opt := x509.VerifyOptions{Roots: cfg.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			opt.Intermediates.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(opt)
		return err
	}
}

// dial opens a connection.
func (o *Options) dial(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	conn, err := dialer.DialContext(ctx, o.Network, addr)
	if err != nil || o.TLS == nil {
		return conn, err
	}
	cfg, err := o.TLS.config(addr)
	if err != nil {
		conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with Redis: %w", err)
	}
	if raw, ok := conn.(syscall.Conn); ok {
		return checked{secured, raw}, nil
	}
	return secured, nil
}

// checked is a TLS connection that shows its socket. Before each use go-redis
// looks whether bytes or an end wait there, of plain connections only. Between
// two runs there is nothing to read but the server's farewell: such a connection
// is replaced before a call is lost on it. What else TLS sends unasked, tickets,
// comes before the first answer and is read with it.
type checked struct {
	*tls.Conn
	socket syscall.Conn
}

func (c checked) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }

// client makes a go-redis client of one connection that never retries: a retry
// may charge twice. resolve names the address to dial; dialled, if not nil, is
// told of each new connection.
func (o *Options) client(timeout time.Duration, resolve func(context.Context) (string, error), dialled func(net.Conn)) *redis.Client {
	return redis.NewClient(o.clientOptions(timeout, o.Credentials, func(ctx context.Context) (net.Conn, error) {
		addr, err := resolve(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := o.dial(ctx, addr, min(timeout, o.IOTimeout))
		if err == nil && dialled != nil {
			dialled(conn)
		}
		return conn, err
	}))
}

// undialled stands for a connection that could not be dialled: its first use
// fails. After a failed dial go-redis would fail all else for a second without
// dialling; of a connection that fails it just takes the next.
type undialled struct {
	net.Conn // for the rest of its methods
	err      error
}

func newUndialled(err error) net.Conn {
	conn, _ := net.Pipe()
	return undialled{conn, err}
}

func (u undialled) Read([]byte) (int, error)  { return 0, u.err }
func (u undialled) Write([]byte) (int, error) { return 0, u.err }

func (o *Options) clientOptions(timeout time.Duration, credentials func() (string, string, error), dial func(context.Context) (net.Conn, error)) *redis.Options {
	opt := &redis.Options{
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				conn = newUndialled(err)
			}
			return conn, nil
		},
		DB:                    o.DB,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		DialTimeout:           min(timeout, o.IOTimeout),
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolTimeout:           timeout,
		DialerRetries:         1,
		PoolSize:              1,
		PipelinePoolSize:      -1,
		ConnMaxIdleTime:       -1,
		ContextTimeoutEnabled: false, // a caller's deadline must not end a connection
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	if credentials != nil {
		opt.CredentialsProviderContext = func(context.Context) (string, string, error) { return credentials() }
	}
	return opt
}
