package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// upstreamTLS is how Envoy speaks to servers over TLS with a client certificate.
const upstreamTLS = `      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: envoy-rls
          common_tls_context:
            tls_certificates:
              - certificate_chain: { filename: FOLDER/tls.crt }
                private_key: { filename: FOLDER/tls.key }
            validation_context:
              trusted_ca: { filename: FOLDER/ca.crt }
              match_typed_subject_alt_names:
                - { san_type: DNS, matcher: { exact: envoy-rls } }
`

// serverTLS are the settings of a server with the certificates of a folder, which
// asks clients for one of the same authority.
func serverTLS(folder string) []string {
	return []string{
		"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=" + folder + "/tls.crt", "GRPC_SERVER_TLS_KEY=" + folder + "/tls.key",
		"GRPC_CLIENT_TLS_CACERT=" + folder + "/ca.crt", "GRPC_CLIENT_TLS_SAN=envoy",
	}
}

// TestCertificateRotation replaces the server's certificate and key under traffic,
// one after the other, while connections are renewed all the time: no request
// fails, and the new certificate is shown.
func TestCertificateRotation(t *testing.T) {
	t.Parallel()
	ca, ours, envoys := newAuthority(t), t.TempDir(), t.TempDir()
	ca.write(t, ours, "envoy-rls")
	ca.write(t, envoys, "envoy")
	s := startRLS(t, append(serverTLS(ours), "STORE=memory://", "GRPC_MAX_CONNECTION_AGE=500ms")...)
	opts := patient
	opts.TLS = envoys
	g := startGateway(t, opts, s)
	eventually(t, startTimeout, "a decision over TLS", func() bool {
		return g.from(t, "127.5.0.1").get("/").Header.Get("x-ratelimit-limit") != ""
	})
	traffic := startTraffic(t, g)
	for range 3 {
		before := shownSerial(t, s, envoys)
		next := ca.files(t, "envoy-rls")
		for _, name := range []string{"tls.crt", "tls.key"} {
			if err := os.WriteFile(filepath.Join(ours, name), next[name], 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond) // the server looks while half is written
		}
		eventually(t, 5*time.Second, "the new certificate", func() bool { return shownSerial(t, s, envoys) != before })
	}
	traffic.wantNoFailure(t, 300)
	wantRefused(t, s, envoys)
}

// shownSerial is the serial number of the certificate that the server shows.
func shownSerial(t *testing.T, s *rls, folder string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", "127.0.0.1:"+s.grpcPort, clientTLS(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func clientTLS(t *testing.T, folder string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: "envoy-rls", NextProtos: []string{"h2"}}
}

// wantRefused sees a client without a certificate sent away, and the operator told
// what is missing.
func wantRefused(t *testing.T, s *rls, folder string) {
	t.Helper()
	bare := clientTLS(t, folder)
	bare.Certificates, bare.InsecureSkipVerify = nil, true
	conn, err := tls.Dial("tcp", "127.0.0.1:"+s.grpcPort, bare)
	if err == nil { // TLS 1.3 tells the client with the first byte that it reads
		conn.SetDeadline(time.Now().Add(startTimeout))
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate: %v", err)
	}
	eventually(t, startTimeout, "the hint in the log", func() bool {
		return strings.Contains(s.out.String(), "GRPC_CLIENT_TLS_CACERT asks clients for a certificate")
	})
}

// TestHTTPSPorts: the HTTP ports speak TLS when asked to, and tell who comes in
// plain text.
func TestHTTPSPorts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeCerts(t, folder, "envoy-rls")
	s := &rls{grpcPort: freePort(t), httpPort: freePort(t), metricsPort: freePort(t)}
	s.process = start(t, "envoy-rls", append(append(s.env(t), serverTLS(folder)...), "STORE=memory://", "HTTP_SERVER_USE_TLS=true"), rlsBinary)
	cfg := clientTLS(t, folder)
	cfg.Certificates, cfg.NextProtos = nil, nil
	https := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}}
	defer https.CloseIdleConnections()
	for port, path := range map[string]string{s.httpPort: "/readyz", s.metricsPort: "/metrics"} {
		eventually(t, startTimeout, path+" by https", func() bool {
			res, err := https.Get("https://127.0.0.1:" + port + path)
			if err != nil {
				return false
			}
			res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
	}
	if code, _ := httpGet(t.Context(), "http://127.0.0.1:"+s.httpPort+"/readyz"); code == http.StatusOK {
		t.Error("the port still answers in plain text")
	}
	eventually(t, startTimeout, "the hint in the log", func() bool {
		return strings.Contains(s.out.String(), "a client speaks plain text to a port with TLS")
	})
	for _, env := range [][]string{{"PORT=" + s.httpPort, "HTTP_SERVER_USE_TLS=true"}} {
		check := start(t, "healthcheck", env, rlsBinary, "healthcheck")
		if code := check.wait(t, startTimeout); code != 0 {
			t.Errorf("healthcheck ends with %d: %s", code, check.out.String())
		}
	}
}
