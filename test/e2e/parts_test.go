package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rls is a running envoy-rls.
type rls struct {
	*process
	grpcPort, httpPort, metricsPort string
}

// startRLS runs envoy-rls with the given settings and waits until it is ready.
func startRLS(t *testing.T, env ...string) *rls {
	t.Helper()
	s := &rls{grpcPort: freePort(t), httpPort: freePort(t), metricsPort: freePort(t)}
	s.process = start(t, "envoy-rls", append(s.env(t), env...), rlsBinary)
	s.awaitReady(t, func(ctx context.Context) bool {
		code, _ := httpGet(ctx, "http://127.0.0.1:"+s.httpPort+"/readyz")
		return code == http.StatusOK
	})
	return s
}

// env puts all listeners on free ports of 127.0.0.1. The rules are those of
// config/, unless RULES says otherwise later in the list.
func (s *rls) env(t *testing.T) []string {
	return []string{
		"RULES=" + filepath.Join(repoRoot, "config"),
		"GRPC_HOST=127.0.0.1", "GRPC_PORT=" + s.grpcPort,
		"HOST=127.0.0.1", "PORT=" + s.httpPort,
		"DEBUG_PORT=" + freePort(t),
		"PROMETHEUS_ADDR=127.0.0.1:" + s.metricsPort,
	}
}

// metrics returns the text of the server's metrics.
func (s *rls) metrics(t *testing.T) string {
	t.Helper()
	code, body := httpGet(t.Context(), "http://127.0.0.1:"+s.metricsPort+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics: status %d", code)
	}
	return body
}

// ask puts one request for a bucket of the domain over HTTP and returns the
// status.
func (s *rls) ask(t *testing.T, domain string) int {
	t.Helper()
	body := fmt.Sprintf(`{"domain": %q, "descriptors": [{"entries": [{"key": "k", "value": "v"}]}]}`, domain)
	res, err := http.Post("http://127.0.0.1:"+s.httpPort+"/json", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// startRedis runs a redis-server and returns it and the STORE setting for it.
func startRedis(t *testing.T) (*process, string) {
	t.Helper()
	port := freePort(t)
	p := start(t, "redis-server", nil, redisBinary,
		"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	p.awaitReady(t, func(ctx context.Context) bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p, "STORE=redis://127.0.0.1:" + port + "/0"
}

// gateway is a running Envoy.
type gateway struct {
	*process
	port, adminPort string
}

// gatewayOptions are what a test changes in deploy/envoy.yaml beside addresses.
type gatewayOptions struct {
	// TLS is the folder of the certificates that Envoy and its servers show each
	// other; "" is plain text.
	TLS string
	// Endpoints is a file that names the servers, which are then not checked for
	// health; "" names them in the configuration itself.
	Endpoints string
	// FailureModeDeny shows calls without an answer as status 500.
	FailureModeDeny bool
	// Timeout takes the place of the 20 ms, which a busy test machine may well
	// exceed; "" keeps them.
	Timeout string
}

// patient is for tests that count: no answer may get lost to the machine's load.
var patient = gatewayOptions{FailureModeDeny: true, Timeout: "2s"}

// startGateway runs Envoy with deploy/envoy.yaml before the given servers.
func startGateway(t *testing.T, opts gatewayOptions, servers ...*rls) *gateway {
	t.Helper()
	g := &gateway{port: freePort(t), adminPort: freePort(t)}
	g.run(t, g.config(t, opts, servers))
	return g
}

// run runs Envoy with a configuration that has the gateway's ports, and returns
// the file that it is in.
func (g *gateway) run(t *testing.T, config string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "envoy.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.process = start(t, "envoy", nil, envoyBinary,
		"-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "warning")
	g.awaitReady(t, func(ctx context.Context) bool {
		code, _ := httpGet(ctx, "http://127.0.0.1:"+g.adminPort+"/ready")
		return code == http.StatusOK
	})
	return file
}

func (g *gateway) config(t *testing.T, opts gatewayOptions, servers []*rls) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repoRoot, "deploy", "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const endpoint = `              - endpoint:
                  address:
                    socket_address: { address: envoy-rls, port_value: 8081 }
`
	var endpoints strings.Builder
	for _, s := range servers {
		endpoints.WriteString(strings.NewReplacer("envoy-rls", "127.0.0.1", "8081", s.grpcPort).Replace(endpoint))
	}
	text := string(data)
	replace := func(old, new string, times int) {
		t.Helper()
		if n := strings.Count(text, old); n != times {
			t.Fatalf("deploy/envoy.yaml has %q %d times, want %d: this test rewrites it", old, n, times)
		}
		text = strings.ReplaceAll(text, old, new)
	}
	replace(endpoint, endpoints.String(), 1)
	replace("address: 127.0.0.1, port_value: 9901", "address: 127.0.0.1, port_value: "+g.adminPort, 1)
	replace("address: 0.0.0.0, port_value: 10000", "address: 127.0.0.1, port_value: "+g.port, 1)
	replace("port_value: 10001", "port_value: "+freePort(t), 2)
	if opts.TLS != "" {
		replace("      lb_policy: LEAST_REQUEST\n", "      lb_policy: LEAST_REQUEST\n"+strings.ReplaceAll(upstreamTLS, "FOLDER", opts.TLS), 1)
	}
	if opts.Endpoints != "" {
		text = fromEndpoints(t, text, opts.Endpoints)
	}
	if opts.Timeout != "" {
		replace("timeout: 0.020s", "timeout: "+opts.Timeout, 1)
	}
	if opts.FailureModeDeny {
		replace("failure_mode_deny: false", "failure_mode_deny: true", 1)
	}
	return text
}

// httpGet returns the status and the body; status 0 is no answer.
func httpGet(ctx context.Context, url string) (int, string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}
