package page

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gateway is an Envoy that asks for a limit by a header.
const gateway = `
static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: LISTEN } }
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: gateway
          http_filters:
          - name: ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: shop
              timeout: 2s
              rate_limit_service: { transport_api_version: V3, grpc_service: { envoy_grpc: { cluster_name: envoy-rls } } }
          - name: router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              rate_limits: [{ actions: [{ request_headers: { header_name: x-guest, descriptor_key: guest } }] }]
              routes: [{ match: { prefix: / }, route: { cluster: application } }]
  clusters:
  - name: application # nobody is there: what is let through gets a 503
    connect_timeout: 0.1s
    load_assignment:
      cluster_name: application
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 1 } } } }] }]
  - name: envoy-rls
    connect_timeout: 2s
    load_assignment:
      cluster_name: envoy-rls
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: GRPC } } } }] }]
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: { http2_protocol_options: {} }
`

// startEnvoy runs a real Envoy before the server and returns its URL.
func startEnvoy(t *testing.T, s *server) string {
	t.Helper()
	binary := os.Getenv("ENVOY_BIN")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("envoy is missing: run ./test.sh, which installs it, or name one in ENVOY_BIN: %v", err)
	}
	port, file := freePort(t), filepath.Join(t.TempDir(), "envoy.yaml")
	config := strings.NewReplacer("LISTEN", port, "GRPC", s.grpcPort).Replace(gateway)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "error")
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // else it has ended by itself
		_ = cmd.Wait()         // says that it was killed
		if t.Failed() {
			t.Logf("log of Envoy:\n%s", log.String())
		}
	})
	url := "http://127.0.0.1:" + port
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
			return url
		}
		if time.Now().After(deadline) {
			t.Fatal("Envoy does not answer")
		}
	}
}
