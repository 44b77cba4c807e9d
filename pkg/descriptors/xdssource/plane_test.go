package xdssource

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeID = "envoy-ratelimit"

// plane is a control plane as Envoy Gateway has one: go-control-plane's server,
// with a snapshot for one node id, over TLS with client certificates.
type plane struct {
	t        *testing.T
	certs    string // folder
	addr     string
	cache    cache.SnapshotCache
	server   *grpc.Server
	stop     context.CancelFunc
	stopped  chan struct{}
	mu       sync.Mutex
	requests []*discovery.DiscoveryRequest
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{t: t, certs: t.TempDir(), addr: "127.0.0.1:0"}
	newAuthority(t).write(t, p.certs)
	p.start()
	t.Cleanup(func() { p.kill() })
	return p
}

// start begins with an empty cache, as a new process does.
func (p *plane) start() {
	p.t.Helper()
	p.cache = cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	p.listen()
}

func (p *plane) listen() {
	p.t.Helper()
	var listener net.Listener
	eventually(p.t, "the port of the control plane is free", func() bool {
		var err error
		listener, err = net.Listen("tcp", p.addr)
		return err == nil
	})
	p.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.stopped = cancel, make(chan struct{})
	p.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(p.tls())))
	discovery.RegisterAggregatedDiscoveryServiceServer(p.server, server.NewServer(ctx, p.cache, server.CallbackFuncs{
		StreamRequestFunc: func(_ int64, r *discovery.DiscoveryRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.requests = append(p.requests, r)
			return nil
		},
	}))
	grpcServer, stopped := p.server, p.stopped
	go func() {
		defer close(stopped)
		_ = grpcServer.Serve(listener) // ends with kill or goAway
	}()
}

func (p *plane) tls() *tls.Config {
	p.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.certs, "tls.crt"), filepath.Join(p.certs, "tls.key"))
	must(p.t, err)
	pem, err := os.ReadFile(filepath.Join(p.certs, "ca.crt"))
	must(p.t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

func (p *plane) kill() {
	p.stop()
	p.server.Stop()
	<-p.stopped
}

// set puts resources into the snapshot.
func (p *plane) set(version string, configs ...*rlsconfig.RateLimitConfig) {
	p.t.Helper()
	resources := make([]types.Resource, len(configs))
	for i := range configs {
		resources[i] = configs[i]
	}
	snapshot, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	must(p.t, err)
	must(p.t, p.cache.SetSnapshot(context.Background(), nodeID, snapshot))
}

// asked lists what was asked for, from the given number on.
func (p *plane) asked() []*discovery.DiscoveryRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*discovery.DiscoveryRequest{}, p.requests...)
}

// nacks lists the reasons for refusals.
func (p *plane) nacks() []string {
	var all []string
	for _, r := range p.asked() {
		if r.GetErrorDetail() != nil {
			all = append(all, r.GetErrorDetail().GetMessage())
		}
	}
	return all
}

// options are those of a client of the control plane, with short pauses.
func (p *plane) options() Options {
	return Options{
		Server:       p.addr,
		NodeID:       nodeID,
		NodeMetadata: map[string]string{"pod": "a"},
		Headers:      map[string]string{"authorization": "t"},
		TLS: &TLS{
			CAFile:   filepath.Join(p.certs, "ca.crt"),
			CertFile: filepath.Join(p.certs, "tls.crt"),
			KeyFile:  filepath.Join(p.certs, "tls.key"),
			SAN:      "envoy-gateway",
		},
		Backoff:    Backoff{Connect: 20 * time.Millisecond, Initial: 30 * time.Millisecond, Max: 100 * time.Millisecond, Random: 0.5},
		emptyDelay: time.Hour,
	}
}

func one(domain string, amount uint32) *rlsconfig.RateLimitConfig {
	return &rlsconfig.RateLimitConfig{Name: domain, Domain: domain, Descriptors: []*rlsconfig.RateLimitDescriptor{rule("k", "", amount)}}
}

func rule(key, value string, amount uint32, below ...*rlsconfig.RateLimitDescriptor) *rlsconfig.RateLimitDescriptor {
	d := &rlsconfig.RateLimitDescriptor{Key: key, Value: value, Descriptors: below}
	if amount > 0 {
		d.RateLimit = &rlsconfig.RateLimitPolicy{Unit: rlsconfig.RateLimitUnit_HOUR, RequestsPerUnit: amount}
	}
	return d
}

// gateway is rules in the shape of Envoy Gateway's: a route, and for each rule a
// chain of matches, shadow on every node, the limit on the last.
func gateway(domain string, count, depth int) *rlsconfig.RateLimitConfig {
	route := rule("httproute/default/r", "httproute/default/r", 0)
	for i := range count {
		leaf := rule(fmt.Sprintf("rule-%d-match-%d", i, depth-1), "", uint32(i)+1)
		leaf.ShadowMode = i%2 == 1
		for j := depth - 2; j >= 0; j-- {
			name := fmt.Sprintf("rule-%d-match-%d", i, j)
			up := rule(name, name, 0, leaf)
			up.ShadowMode = leaf.ShadowMode
			leaf = up
		}
		route.Descriptors = append(route.Descriptors, leaf)
	}
	return &rlsconfig.RateLimitConfig{Name: domain, Domain: domain, Descriptors: []*rlsconfig.RateLimitDescriptor{route}}
}

func version(n int) string { return strconv.Itoa(n) }

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for something, far longer than it ought to take.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
