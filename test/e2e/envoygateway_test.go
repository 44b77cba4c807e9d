package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// The user that Envoy Gateway's Deployment runs as.
const nobody = 65534

// promptly is how long a change may take: one second is meant, the rest is for a
// busy machine. Coming back to a control plane that was away takes a backoff.
const (
	promptly  = 5 * time.Second
	afterAway = 60 * time.Second
)

// TestEnvoyGateway puts the server where Envoy Gateway puts envoyproxy/ratelimit:
// its environment, no arguments, its user, its files, its control plane. Only the
// ports and the addresses are this test's. As root the file system is a tree with
// these files and nothing else; else the process sees the machine's, and the
// settings name the tree.
func TestEnvoyGateway(t *testing.T) {
	t.Parallel()
	tree := newGatewayTree(t)
	plane := newControlPlane(t, filepath.Join(tree, "certs"))
	s := startUnderGateway(t, tree, plane)

	if os.Geteuid() == 0 {
		wantUser(t, s.cmd.Process.Pid, nobody)
	}
	if got := s.decide(t, gatewayRule(0)); got.status != http.StatusServiceUnavailable {
		t.Errorf("before the first rules a call is answered with %v", got)
	}
	plane.set(gatewayDomain("default/eg/http", 100), gatewayDomain("default/eg/other", 100))
	eventually(t, promptly, "the first rules", func() bool { return s.decide(t, gatewayRule(255)).amount == 100+255 })
	if got := s.decide(t, gatewayRule(1)); got.status != http.StatusOK || got.amount != 101 {
		t.Errorf("rule 1 is answered with %v", got)
	}
	wantGatewayCall(t, s, filepath.Join(tree, "certs"))
	plane.set(gatewayDomain("default/eg/http", 200), gatewayDomain("default/eg/other", 200))
	eventually(t, promptly, "an update", func() bool { return s.decide(t, gatewayRule(255)).amount == 200+255 })

	// What is in error keeps its last good rules, by itself.
	bad := gatewayDomain("default/eg/http", 300)
	bad.Descriptors[0].Descriptors[0].Key = ""
	plane.set(bad, gatewayDomain("default/eg/other", 300))
	other := gatewayRule(7)
	other.domain = "default/eg/other"
	eventually(t, promptly, "the good resource beside a bad one", func() bool { return s.decide(t, other).amount == 307 })
	if got := s.decide(t, gatewayRule(7)); got.amount != 207 {
		t.Errorf("the bad resource is answered with %v, want its last good limit of 207", got)
	}
	eventually(t, promptly, "the refusal", func() bool { return plane.refused("default/eg/http") > 0 })
	time.Sleep(time.Second) // for a storm of refusals to show itself
	if n := plane.refused(""); n > 10 {
		t.Errorf("one bad resource was refused %d times", n)
	}

	plane.goAway()
	plane.set(gatewayDomain("default/eg/http", 400))
	eventually(t, afterAway, "rules of the control plane that took over", func() bool { return s.decide(t, gatewayRule(9)).amount == 409 })

	// A control plane that has just started may not have seen its routes yet.
	plane.kill()
	plane.start()
	plane.set()
	eventually(t, afterAway, "the stream to the control plane that crashed", func() bool {
		return plane.cache.GetStatusInfo("envoy-ratelimit") != nil
	})
	time.Sleep(500 * time.Millisecond) // for the empty answer to do what harm it can
	if got := s.decide(t, gatewayRule(9)); got.amount != 409 {
		t.Errorf("an empty snapshot after a restart: %v, want the limit of 409", got)
	}
	plane.set(gatewayDomain("default/eg/http", 500))
	eventually(t, promptly, "rules after the restart", func() bool { return s.decide(t, gatewayRule(9)).amount == 509 })
	plane.set()
	eventually(t, promptly, "the end of all rules, when it is meant", func() bool { return s.decide(t, gatewayRule(9)) == verdict{status: 200} })

	s.signal(syscall.SIGTERM)
	if code := s.wait(t, 40*time.Second); code != 0 {
		t.Errorf("SIGTERM ends it with exit code %d", code)
	}
}

// wantGatewayCall calls as Envoy does under the gateway: gRPC over TLS, with a
// client certificate of the same authority.
func wantGatewayCall(t *testing.T, s *rls, certs string) {
	t.Helper()
	cfg := clientTLS(t, certs)
	cfg.ServerName = "envoy-gateway"
	conn, err := grpc.NewClient("127.0.0.1:"+s.grpcPort, grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	rule := gatewayRule(3)
	entries := []*ratelimitv3.RateLimitDescriptor_Entry{}
	for i := 0; i < len(rule.entries); i += 2 {
		entries = append(entries, &ratelimitv3.RateLimitDescriptor_Entry{Key: rule.entries[i], Value: rule.entries[i+1]})
	}
	ans, err := rlsv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, &rlsv3.RateLimitRequest{
		Domain: rule.domain, Descriptors: []*ratelimitv3.RateLimitDescriptor{{Entries: entries}},
	})
	if err != nil || ans.OverallCode != rlsv3.RateLimitResponse_OK || ans.Statuses[0].CurrentLimit.GetRequestsPerUnit() != 103 {
		t.Errorf("a call over TLS: %v, %v", ans, err)
	}
	wantRefused(t, s, certs)
}

// gatewayDomain is a resource as Envoy Gateway makes it for a listener with one
// route and the most rules that it takes, 256, of several headers each. The limits
// are base, base+1, and so on.
func gatewayDomain(domain string, base uint32) *rlsconfig.RateLimitConfig {
	const route = "httproute/default/shop/rule/0"
	top := &rlsconfig.RateLimitDescriptor{Key: route, Value: route}
	for i := range 256 {
		rule := gatewayMatches(i)
		node := &rlsconfig.RateLimitDescriptor{Key: rule[len(rule)-2], RateLimit: &rlsconfig.RateLimitPolicy{
			RequestsPerUnit: base + uint32(i), Unit: rlsconfig.RateLimitUnit_YEAR,
		}}
		for j := len(rule) - 4; j >= 0; j -= 2 {
			node = &rlsconfig.RateLimitDescriptor{Key: rule[j], Value: rule[j+1], Descriptors: []*rlsconfig.RateLimitDescriptor{node}}
		}
		top.Descriptors = append(top.Descriptors, node)
	}
	return &rlsconfig.RateLimitConfig{Name: domain, Domain: domain, Descriptors: []*rlsconfig.RateLimitDescriptor{top}}
}

// gatewayMatches are the keys and values of a rule below its route: eight headers,
// a network, and each address by itself.
func gatewayMatches(rule int) []string {
	var entries []string
	for j := range 8 {
		name := fmt.Sprintf("rule-%d-match-%d", rule, j)
		entries = append(entries, name, name)
	}
	return append(entries, "masked_remote_address", "10.0.0.0/8", "remote_address", "10.1.2.3")
}

// gatewayRule is a call that meets a rule of the first domain.
func gatewayRule(rule int) call {
	const route = "httproute/default/shop/rule/0"
	return call{"default/eg/http", append([]string{route, route}, gatewayMatches(rule)...)}
}

// newGatewayTree lays out the files of the container: the binary, linked
// statically, the certificates, and the names of the cluster.
func newGatewayTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	for _, folder := range []string{tree, filepath.Join(tree, "bin"), filepath.Join(tree, "certs"), filepath.Join(tree, "etc")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, 0o755); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	writeCerts(t, filepath.Join(tree, "certs"), "envoy-gateway", "localhost")
	if err := os.WriteFile(filepath.Join(tree, "etc", "hosts"), []byte("127.0.0.1 localhost envoy-gateway\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(tree, "bin", "ratelimit"), "./cmd/envoy-rls")
	build.Dir, build.Env = repoRoot, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tree
}

// startUnderGateway starts /bin/ratelimit of the tree and waits until it is ready.
func startUnderGateway(t *testing.T, tree string, plane *controlPlane) *rls {
	t.Helper()
	_, store := startRedis(t)
	s := &rls{grpcPort: freePort(t), httpPort: freePort(t), metricsPort: freePort(t)}
	env := append(gatewayEnv(plane.port(), strings.TrimSuffix(strings.TrimPrefix(store, "STORE=redis://"), "/0"), s.metricsPort),
		// Not the gateway's: the addresses and ports of this test.
		"HOST=127.0.0.1", "PORT="+s.httpPort, "GRPC_HOST=127.0.0.1", "GRPC_PORT="+s.grpcPort, "DEBUG_PORT="+freePort(t))
	cmd := exec.Command("/bin/ratelimit")
	if os.Geteuid() == 0 {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: tree, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	} else {
		cmd = exec.Command(filepath.Join(tree, "bin", "ratelimit"))
		cmd.Dir = tree
		for i := range env {
			env[i] = strings.NewReplacer("=/certs/", "="+tree+"/certs/", "=/data", "="+tree+"/data", "=envoy-gateway:", "=localhost:").Replace(env[i])
		}
	}
	cmd.Env = env
	s.process = startCommand(t, "ratelimit", cmd)
	s.awaitHealthcheck(t)
	return s
}

// wantUser reads from the kernel as whom a process runs.
func wantUser(t *testing.T, pid, user int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(fmt.Sprintf("\t%d", user), 4); !strings.Contains(string(status), "\nUid:"+want+"\n") {
		t.Errorf("the server does not run as user %d:\n%s", user, status)
	}
}

// gatewayEnv is what Envoy Gateway sets.
func gatewayEnv(planePort, redis, metricsPort string) []string {
	return []string{
		"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_IGNOREDOTFILES=true", "RUNTIME_WATCH_ROOT=false",
		"LOG_LEVEL=info", "USE_STATSD=false",
		"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=/certs/tls.crt", "GRPC_SERVER_TLS_KEY=/certs/tls.key", "GRPC_SERVER_TLS_CA_CERT=/certs/ca.crt",
		"CONFIG_TYPE=GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL=envoy-gateway:" + planePort, "CONFIG_GRPC_XDS_NODE_ID=envoy-ratelimit",
		"CONFIG_GRPC_XDS_SERVER_USE_TLS=true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT=/certs/tls.crt", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY=/certs/tls.key",
		"CONFIG_GRPC_XDS_SERVER_TLS_CACERT=/certs/ca.crt", "FORCE_START_WITHOUT_INITIAL_CONFIG=true",
		"REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + redis,
		"USE_PROMETHEUS=true", "PROMETHEUS_ADDR=127.0.0.1:" + metricsPort, "PROMETHEUS_MAPPER_YAML=/etc/statsd-exporter/conf.yaml",
	}
}
