package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDrain stops one of two servers under traffic, then starts another in its
// place and stops the second: a rolling restart, over TLS with client certificates. No
// request may fail, although the gateway answers 500 where it gets no decision.
func TestDrain(t *testing.T) {
	t.Parallel()
	_, store := startRedis(t)
	ca, ours := newAuthority(t), t.TempDir()
	ca.write(t, ours, "envoy-rls")
	settings := append(serverTLS(ours), store, patientStore, "DRAIN_DELAY=5s", "SHUTDOWN_TIMEOUT=15s")
	first, second := startRLS(t, settings...), startRLS(t, settings...)
	opts := patient
	opts.TLS = t.TempDir()
	ca.write(t, opts.TLS, "envoy")
	g := startGateway(t, opts, first, second)
	healthy := func(n int) func() bool {
		return func() bool {
			_, body := httpGet(t.Context(), "http://127.0.0.1:"+g.adminPort+"/clusters")
			return countHealthy(body) == n
		}
	}
	eventually(t, startTimeout, "two healthy servers", healthy(2))
	traffic := startTraffic(t, g)

	for _, s := range []*rls{first, second} {
		time.Sleep(time.Second)
		s.signal(syscall.SIGTERM)
		eventually(t, 10*time.Second, "the gateway takes the server out", healthy(1))
		if code := s.wait(t, 20*time.Second); code != 0 {
			t.Errorf("exit code %d after SIGTERM, want 0", code)
		}
		restart(t, s, settings)
		eventually(t, startTimeout, "the gateway takes the new server in", healthy(2))
	}
	traffic.wantNoFailure(t, 500)
}

// restart runs a server on the ports of one that has ended.
func restart(t *testing.T, s *rls, settings []string) {
	t.Helper()
	s.process = start(t, "envoy-rls", append(s.env(t), settings...), rlsBinary)
}

// countHealthy counts the servers that the gateway's health checks pass, in the
// text of /clusters of its admin port.
func countHealthy(clusters string) (n int) {
	for line := range strings.Lines(clusters) {
		if strings.HasPrefix(line, "envoy-rls::") && strings.Contains(line, "::health_flags::healthy") {
			n++
		}
	}
	return n
}
