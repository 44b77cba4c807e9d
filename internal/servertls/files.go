package servertls

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Files say where the certificates are, all in PEM.
type Files struct {
	CertFile, KeyFile string
	ClientCAFile      string // authorities of client certificates; "" = clients need none
	// ClientSAN is the name that a client's certificate must hold, a DNS name, an
	// address or a URI; "" = any.
	ClientSAN string
}

// contents are what the files hold.
type contents struct{ cert, key, clientCA []byte }

func (f *Files) read() (contents, error) {
	var c contents
	for _, file := range []struct {
		what, path string
		to         *[]byte
	}{
		{"the server's certificate", f.CertFile, &c.cert},
		{"the key of the server's certificate", f.KeyFile, &c.key},
		{"the authorities of client certificates", f.ClientCAFile, &c.clientCA},
	} {
		if file.path == "" {
			continue
		}
		data, err := os.ReadFile(file.path)
		if err != nil {
			return contents{}, fmt.Errorf("%s: %w", file.what, err)
		}
		*file.to = data
	}
	return c, nil
}

func (c *contents) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range [][]byte{c.cert, c.key, c.clientCA} {
		one := sha256.Sum256(part)
		h.Write(one[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// pair is what listeners use: one configuration for gRPC, where clients may have to
// show a certificate, and one for HTTP.
type pair struct {
	grpc, http *tls.Config
	until      time.Time // the end of the server's certificate
}

func (f *Files) parse(c contents) (*pair, error) {
	cert, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s and key %s: %w", f.CertFile, f.KeyFile, err)
	}
	base := tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	p := &pair{grpc: base.Clone(), http: base.Clone(), until: cert.Leaf.NotAfter}
	p.grpc.NextProtos, p.http.NextProtos = []string{"h2"}, []string{"http/1.1"}
	if f.ClientCAFile == "" {
		return p, nil
	}
	p.grpc.ClientAuth, p.grpc.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !p.grpc.ClientCAs.AppendCertsFromPEM(c.clientCA) {
		return nil, fmt.Errorf("authorities of client certificates: no certificate in %s", f.ClientCAFile)
	}
	if f.ClientSAN != "" {
		p.grpc.VerifyConnection = func(state tls.ConnectionState) error {
			return holdsName(state.PeerCertificates, f.ClientSAN)
		}
	}
	return p, nil
}

// holdsName tells whether the first certificate, whose chain has been checked, is
// for name.
func holdsName(chain []*x509.Certificate, name string) error {
	if len(chain) == 0 {
		return errors.New("the client shows no certificate")
	}
	if !strings.Contains(name, "://") {
		return chain[0].VerifyHostname(name)
	}
	var has []string
	for _, uri := range chain[0].URIs {
		has = append(has, uri.String())
	}
	if !slices.Contains(has, name) {
		return fmt.Errorf("the client's certificate does not hold %s but %q", name, has)
	}
	return nil
}
