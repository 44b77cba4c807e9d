package redisstore

import (
	"os"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// Files of TLS are read for each connection: certificates that are put right, or
// replaced, need no restart.
func TestTLSFilesAreReadAnew(t *testing.T) {
	t.Parallel()
	server, stranger := redistest.StartTLS(t), redistest.StartTLS(t)
	dir := t.TempDir()
	files := &TLS{CAFile: dir + "/ca.crt", CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key"}
	put := func(from *redistest.TLSServer) {
		t.Helper()
		for to, name := range map[string]string{files.CAFile: from.CAFile, files.CertFile: from.CertFile, files.KeyFile: from.KeyFile} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(stranger)
	s := open(t, Options{Addrs: []string{server.Addr}, TLS: files, Lanes: 1})
	l := perHour(t, 1000)
	if call, _ := take(s, 10*time.Second, l, "rls1:{tls}:1"); call.Err == nil {
		t.Fatal("a server of an authority that is not trusted was asked")
	}
	put(server)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		call, _ := take(s, 10*time.Second, l, "rls1:{tls}:1")
		if call.Err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the right files: %v", call.Err)
		}
	}
}

// The name may be left unchecked, the authority not.
func TestSkipHostname(t *testing.T) {
	t.Parallel()
	server, stranger := redistest.StartTLS(t, "--bind", "127.0.0.1", "127.0.0.2"), redistest.StartTLS(t)
	other := "127.0.0.2" + server.Addr[len("127.0.0.1"):] // no name of the certificate
	for name, c := range map[string]struct {
		tls     TLS
		answers bool
	}{
		"checked":           {TLS{CAFile: server.CAFile}, false},
		"unchecked":         {TLS{CAFile: server.CAFile, SkipHostname: true}, true},
		"another authority": {TLS{CAFile: stranger.CAFile, SkipHostname: true}, false},
		"nothing checked":   {TLS{CAFile: stranger.CAFile, SkipVerify: true}, true},
	} {
		c.tls.CertFile, c.tls.KeyFile = server.CertFile, server.KeyFile
		o := Options{Network: "tcp", Addrs: []string{other}, TLS: &c.tls, IOTimeout: 10 * time.Second}
		conn, err := o.dial(t.Context(), other, 10*time.Second)
		if (err == nil) != c.answers {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
