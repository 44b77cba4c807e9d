package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TLSServer is a server that speaks TLS only, and only with clients that show a
// certificate of its authority.
type TLSServer struct {
	*Server
	CAFile, CertFile, KeyFile string // for clients

	certFile, keyFile string // its own
}

// StartTLS runs a server with an authority, a server's and a client's
// certificate of its own. The server's is for 127.0.0.1 and localhost.
func StartTLS(t testing.TB, args ...string) *TLSServer {
	t.Helper()
	s := &TLSServer{Server: &Server{t: t, dir: t.TempDir()}}
	s.issue()
	s.args = append([]string{
		"--tls-cert-file", s.certFile, "--tls-key-file", s.keyFile, "--tls-ca-cert-file", s.CAFile, "--tls-auth-clients", "yes",
	}, args...)
	launch(t, s.Server)
	return s
}

// Renew has a new authority issue new certificates, in the same files, and the
// server use them, for connections from now on.
func (s *TLSServer) Renew() {
	s.t.Helper()
	admin := s.Client()
	s.issue()
	admin.MustDo(s.t, "CONFIG", "SET", "tls-cert-file", s.certFile, "tls-key-file", s.keyFile, "tls-ca-cert-file", s.CAFile)
}

func (s *TLSServer) issue() {
	s.t.Helper()
	ca := newAuthority(s.t, s.dir)
	s.CAFile = ca.file
	s.certFile, s.keyFile = ca.issue(s.t, s.dir, "server", x509.ExtKeyUsageServerAuth)
	s.CertFile, s.KeyFile = ca.issue(s.t, s.dir, "client", x509.ExtKeyUsageClientAuth)
	pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	s.access = access{tls: &tls.Config{
		RootCAs: roots, Certificates: []tls.Certificate{pair}, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12,
	}}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	a := &authority{cert: template, key: key}
	der := a.sign(t, template, key)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.file = cert, writePEM(t, dir, "ca.crt", "CERTIFICATE", der)
	return a
}

func (a *authority) issue(t testing.TB, dir, name string, usage x509.ExtKeyUsage) (certFile, keyFile string) {
	t.Helper()
	key := newKey(t)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}, key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, dir, name+".crt", "CERTIFICATE", der), writePEM(t, dir, name+".key", "PRIVATE KEY", secret)
}

func (a *authority) sign(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
