package xdssource

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// TLS says how the stream is secured. Files are read anew for each stream, so
// that rotated certificates are used without a restart; while they cannot be
// read, as last read.
type TLS struct {
	CAFile            string // of the authorities to trust; "" = the system's
	CertFile, KeyFile string // of this client; "" = none
	// SAN is the name that the server's certificate must hold, a DNS name, an
	// address or a URI; "" = the host of the server.
	SAN string
}

func (t *TLS) config(server string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.SAN}
	if t.SAN == "" {
		cfg.ServerName = hostOf(server)
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authorities for xDS: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authorities for xDS: no certificate in %s", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate for xDS: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if strings.Contains(t.SAN, "://") {
		cfg.ServerName = hostOf(server)
		wantURI(cfg, t.SAN)
	}
	return cfg, nil
}

func hostOf(server string) string {
	host, _, err := net.SplitHostPort(server[strings.LastIndexByte(server, '/')+1:])
	if err != nil {
		return server
	}
	return host
}

// wantURI takes the check of a URI in the place of that of the host; the chain
// is checked as ever.
func wantURI(cfg *tls.Config, uri string) {
	cfg.InsecureSkipVerify = true
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		opt := x509.VerifyOptions{Roots: cfg.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			opt.Intermediates.AddCert(cert)
		}
		leaf := state.PeerCertificates[0]
		if _, err := leaf.Verify(opt); err != nil {
			return err
		}
		var has []string
		for _, u := range leaf.URIs {
			has = append(has, u.String())
		}
		if !slices.Contains(has, uri) {
			return errors.New("the certificate of the xDS server does not hold " + uri)
		}
		return nil
	}
}
