package redisstore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

func tlsOf(server *redistest.TLSServer) *TLS {
	return &TLS{CAFile: server.CAFile, CertFile: server.CertFile, KeyFile: server.KeyFile}
}

// Authority, server's and client's certificate are replaced under load. The files
// are read anew when connections are dialled, which a kill brings about.
func TestCertificatesAreRenewedUnderLoad(t *testing.T) {
	server := redistest.StartTLS(t)
	old := keep(t, tlsOf(server))
	s := open(t, Options{Addrs: []string{server.Addr}, TLS: tlsOf(server)})
	l := startLoad(t, s, loadKeys(4)...)
	server.Renew()
	time.Sleep(100 * time.Millisecond) // connections that are there stay
	l.mu.Lock()
	if len(l.kinds) > 0 {
		t.Errorf("new certificates cost calls: %v", l.kinds)
	}
	l.mu.Unlock()
	server.Client().MustDo(t, "CLIENT", "KILL", "TYPE", "normal")
	l.awaitWhole(time.Now())
	l.check(outcome{read: reader(server.Server), servers: []*redistest.Server{server.Server}, kinds: silent})

	behind := open(t, Options{Addrs: []string{server.Addr}, TLS: old})
	if call, _ := take(behind, time.Second, perHour(t, 10), "rls1:{behind}:fixed_window:3600"); call.Err == nil {
		t.Error("the old files still serve: nothing was renewed")
	}
}

// keep copies the files, which are to be replaced.
func keep(t *testing.T, files *TLS) *TLS {
	t.Helper()
	dir := t.TempDir()
	copied := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return to
	}
	return &TLS{CAFile: copied(files.CAFile), CertFile: copied(files.CertFile), KeyFile: copied(files.KeyFile)}
}
