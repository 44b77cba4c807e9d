package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// controlPlane is what Envoy Gateway has: go-control-plane's server, with a
// snapshot for the node id envoy-ratelimit, over TLS with client certificates.
type controlPlane struct {
	t       *testing.T
	certs   string // folder
	addr    string
	version int
	cache   cache.SnapshotCache
	server  *grpc.Server
	end     context.CancelFunc

	mu    sync.Mutex
	nacks []string
}

func newControlPlane(t *testing.T, certs string) *controlPlane {
	t.Helper()
	p := &controlPlane{t: t, certs: certs, addr: "127.0.0.1:0"}
	p.start()
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *controlPlane) port() string {
	_, port, _ := net.SplitHostPort(p.addr)
	return port
}

// start begins with an empty cache, as a new process does.
func (p *controlPlane) start() {
	p.t.Helper()
	p.cache = cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	p.listen()
}

func (p *controlPlane) listen() {
	p.t.Helper()
	var listener net.Listener
	eventually(p.t, 10*time.Second, "the port of the control plane is free", func() (free bool) {
		var err error
		listener, err = net.Listen("tcp", p.addr)
		return err == nil
	})
	p.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(p.tls())))
	discovery.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(ctx, p.cache, server.CallbackFuncs{StreamRequestFunc: p.saw}))
	p.server, p.end = s, cancel
	go func() { _ = s.Serve(listener) }() // ends with kill or goAway
}

func (p *controlPlane) tls() *tls.Config {
	p.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.certs, "tls.crt"), filepath.Join(p.certs, "tls.key"))
	if err != nil {
		p.t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(p.certs, "ca.crt"))
	if err != nil {
		p.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

// saw keeps the reasons of refusals.
func (p *controlPlane) saw(_ int64, r *discovery.DiscoveryRequest) error {
	if r.GetErrorDetail() != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.nacks = append(p.nacks, r.GetErrorDetail().GetMessage())
	}
	return nil
}

// refused counts the refusals that name a text.
func (p *controlPlane) refused(text string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, reason := range p.nacks {
		if strings.Contains(reason, text) {
			n++
		}
	}
	return n
}

// kill ends it at once, as a crash does.
func (p *controlPlane) kill() {
	p.end()
	p.server.Stop()
}

// goAway ends it politely while another takes its port: connections are told to
// go, and streams end.
func (p *controlPlane) goAway() {
	p.t.Helper()
	old, end := p.server, p.end
	gone := make(chan struct{})
	go func() { defer close(gone); old.GracefulStop() }()
	p.listen()
	end()
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		old.Stop() // a client that stays although told to go
		p.t.Error("the server holds on to a connection that was told to go")
	}
}

// set puts resources into the snapshot, under the next version.
func (p *controlPlane) set(configs ...*rlsconfig.RateLimitConfig) {
	p.t.Helper()
	p.version++
	resources := make([]types.Resource, len(configs))
	for i := range configs {
		resources[i] = configs[i]
	}
	snapshot, err := cache.NewSnapshot(strconv.Itoa(p.version), map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	if err == nil {
		err = p.cache.SetSnapshot(context.Background(), "envoy-ratelimit", snapshot)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
