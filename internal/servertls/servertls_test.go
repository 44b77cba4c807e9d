package servertls

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place is a folder with certificates, and what is open on it.
type place struct {
	*Certificates
	files Files
	log   bytes.Buffer
}

func open(t *testing.T, a *authority, san string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{files: Files{
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), ClientCAFile: filepath.Join(dir, "ca.crt"), ClientSAN: san,
	}}
	cert, key := a.issue(t, "server")
	write(t, p.files.CertFile, cert)
	write(t, p.files.KeyFile, key)
	write(t, p.files.ClientCAFile, a.pem())
	var err error
	p.Certificates, err = Open(p.files, slog.New(slog.NewTextHandler(&p.log, nil)))
	must(t, err)
	return p
}

// shake connects a client and returns the serial number of the server's
// certificate. Both ends must agree.
func shake(t *testing.T, server, client *tls.Config) (serial, protocol string, err error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	served := make(chan error, 1)
	go func() {
		defer far.Close()
		conn := tls.Server(far, server)
		_, err := conn.Write([]byte("x"))
		served <- err
	}()
	conn := tls.Client(near, client)
	if err := conn.Handshake(); err != nil {
		near.Close()
		return "", "", errors.Join(err, <-served)
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	near.Close()
	if err := errors.Join(err, <-served); err != nil {
		return "", "", err
	}
	state := conn.ConnectionState()
	return state.PeerCertificates[0].SerialNumber.String(), state.NegotiatedProtocol, nil
}

func TestClients(t *testing.T) {
	t.Parallel()
	ours, stranger := newAuthority(t), newAuthority(t)
	strange := stranger.client(t, "envoy")
	strange.RootCAs = ours.pool()
	for name, c := range map[string]struct {
		san    string
		client *tls.Config
		want   string // part of the error; "" is none
	}{
		"with a certificate":        {"", ours.client(t, "anybody"), ""},
		"without":                   {"", ours.client(t, ""), "certificate required"},
		"of another authority":      {"", strange, "unknown certificate authority"},
		"the name":                  {"envoy", ours.client(t, "envoy"), ""},
		"another name":              {"envoy", ours.client(t, "stranger"), "certificate is valid for stranger, not envoy"},
		"the URI":                   {"spiffe://cluster.local/envoy", ours.client(t, "envoy"), ""},
		"another URI":               {"spiffe://cluster.local/envoy", ours.client(t, "stranger"), "does not hold spiffe://cluster.local/envoy"},
		"a client that trusts none": {"", stranger.client(t, "envoy"), "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, ours, c.san)
			_, protocol, err := shake(t, p.GRPC(), c.client)
			if c.want == "" && (err != nil || protocol != "h2") {
				t.Errorf("gRPC: %q, %v", protocol, err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("gRPC: %v, want %q", err, c.want)
			}
			if c.client.RootCAs.Equal(ours.pool()) { // HTTP asks nobody for a certificate
				if _, protocol, err := shake(t, p.HTTP(), c.client); err != nil || protocol != "http/1.1" {
					t.Errorf("HTTP: %q, %v", protocol, err)
				}
			}
		})
	}
}

// What the files come to hold is in force at the next connection; what cannot be
// used leaves what is, and is told once.
func TestReload(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	p := open(t, ours, "")
	serial := func() string {
		t.Helper()
		serial, _, err := shake(t, p.GRPC(), ours.client(t, "envoy"))
		must(t, err)
		return serial
	}
	first := serial()
	p.look()
	if serial() != first || strings.Count(p.log.String(), "\n") != 1 {
		t.Fatalf("nothing has changed, but %s", p.log.String())
	}
	cert, key := ours.issue(t, "server")
	write(t, p.files.CertFile, cert) // and not yet its key
	p.look()
	p.look()
	if serial() != first || strings.Count(p.log.String(), "cannot be used") != 1 {
		t.Fatalf("half a pair: %s", p.log.String())
	}
	write(t, p.files.KeyFile, key)
	p.look()
	second := serial()
	if second == first || !strings.Contains(p.log.String(), "was replaced") {
		t.Fatalf("the new pair is not in force: %s", p.log.String())
	}
	for name, spoil := range map[string]func(){
		"an emptied authority":   func() { write(t, p.files.ClientCAFile, nil) },
		"an emptied certificate": func() { write(t, p.files.CertFile, nil) },
		"a file that is gone":    func() { must(t, os.Remove(p.files.KeyFile)) },
	} {
		before := strings.Count(p.log.String(), "cannot be used")
		spoil()
		p.look()
		p.look()
		if serial() != second || strings.Count(p.log.String(), "cannot be used") != before+1 {
			t.Errorf("%s: %s", name, p.log.String())
		}
		write(t, p.files.CertFile, cert)
		write(t, p.files.KeyFile, key)
		write(t, p.files.ClientCAFile, ours.pem())
		p.look()
	}
	other := newAuthority(t)
	write(t, p.files.ClientCAFile, other.pem())
	p.look()
	if _, _, err := shake(t, p.GRPC(), ours.client(t, "envoy")); err == nil {
		t.Error("a client of an authority that is no longer trusted got in")
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	for name, c := range map[string]struct {
		spoil func(*Files)
		want  string
	}{
		"no certificate":      {func(f *Files) { f.CertFile += "x" }, "the server's certificate: open "},
		"no key":              {func(f *Files) { f.KeyFile += "x" }, "the key of the server's certificate: open "},
		"another key":         {func(f *Files) { _, key := ours.issue(t, "x"); write(t, f.KeyFile, key) }, "private key does not match public key"},
		"authorities of text": {func(f *Files) { write(t, f.ClientCAFile, []byte("text")) }, "no certificate in "},
	} {
		p := open(t, ours, "")
		c.spoil(&p.files)
		if _, err := Open(p.files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
