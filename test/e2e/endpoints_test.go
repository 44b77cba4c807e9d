package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fromEndpoints makes Envoy read the addresses of the servers from a file, as it
// gets them from a control plane, and believe them: it checks nobody's health.
func fromEndpoints(t *testing.T, config, file string) string {
	t.Helper()
	cut := func(from, to, instead string) {
		t.Helper()
		i := strings.Index(config, from)
		if i < 0 || !strings.Contains(config[i:], to) {
			t.Fatalf("deploy/envoy.yaml has no %q before %q: this test rewrites it", from, to)
		}
		j := i + strings.Index(config[i:], to)
		config = config[:i] + instead + config[j:]
	}
	cut("      type: STRICT_DNS\n", "      lb_policy:", fmt.Sprintf("      type: EDS\n      eds_cluster_config: { eds_config: { path_config_source: { path: %s } } }\n", file))
	cut("      load_assignment:\n        cluster_name: envoy-rls", "      # gRPC is HTTP/2.", "")
	cut("      # A server that shuts down says", "      common_lb_config:", "")
	if !strings.Contains(config, "node:") {
		config = "node: { id: gateway, cluster: gateway }\n" + config
	}
	return config
}

// writeEndpoints puts the addresses of servers into a file that Envoy watches: it
// looks when a file is moved there.
func writeEndpoints(t *testing.T, file string, servers ...*rls) {
	t.Helper()
	var b strings.Builder
	b.WriteString("resources:\n- \"@type\": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\n  cluster_name: envoy-rls\n  endpoints:\n  - lb_endpoints:\n")
	for _, s := range servers {
		fmt.Fprintf(&b, "    - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: %s } } }\n", s.grpcPort)
	}
	next := file + ".next"
	if err := os.WriteFile(next, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

// TestDrainUnchecked ends one of two servers under traffic behind an Envoy that
// checks nobody's health and hears of the end five seconds late, as over DNS. The
// server goes on serving for longer than that: no request fails.
func TestDrainUnchecked(t *testing.T) {
	t.Parallel()
	_, store := startRedis(t)
	ca, ours := newAuthority(t), t.TempDir()
	ca.write(t, ours, "envoy-rls")
	settings := append(serverTLS(ours), store, patientStore, "DRAIN_DELAY=8s", "SHUTDOWN_TIMEOUT=20s")
	first, second := startRLS(t, settings...), startRLS(t, settings...)
	opts := patient
	opts.TLS = t.TempDir()
	ca.write(t, opts.TLS, "envoy")
	opts.Endpoints = filepath.Join(t.TempDir(), "endpoints.yaml")
	writeEndpoints(t, opts.Endpoints, first, second)
	g := startGateway(t, opts, first, second)
	traffic := startTraffic(t, g)
	time.Sleep(time.Second)

	first.signal(syscall.SIGTERM)
	time.Sleep(5 * time.Second)
	writeEndpoints(t, opts.Endpoints, second)
	if code := first.wait(t, 30*time.Second); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	time.Sleep(time.Second)
	traffic.wantNoFailure(t, 500)
}
