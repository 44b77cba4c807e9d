package xdssource

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// connectTimeout bounds an attempt to connect to one address.
	connectTimeout = 10 * time.Second
	// keepaliveInterval is longer than the five minutes below which gRPC servers
	// take pings for abuse.
	keepaliveInterval = 6 * time.Minute
	keepaliveTimeout  = 20 * time.Second
)

// client keeps a stream open. It is used by one goroutine.
type client struct {
	options Options
	judge   func(context.Context, *answer) (verdict, bool)
	ended   func(context.Context) // a stream has ended

	version  string // last one accepted and applied
	security *tls.Config
	refused  refusals
}

// run opens streams, one after the other, until ctx is done.
func (c *client) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		s, err := c.open(ctx)
		connected := err == nil
		if connected {
			err = s.run(ctx)
			s.close()
			c.ended(ctx)
		}
		if failures++; connected && s.answered && time.Since(began) > c.options.Backoff.Initial {
			failures = 0
		}
		pause := max(0, c.options.Backoff.pause(connected, failures)-time.Since(began))
		if ctx.Err() == nil {
			c.options.Log.Warn("no xDS stream: the rules in force stay", "server", c.options.Server,
				"error", err, "retry_in", pause.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// dial makes a connection for one stream: each resolves names and reads
// certificates anew.
func (c *client) dial() (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if t := c.options.TLS; t != nil {
		cfg, err := t.config(c.options.Server)
		switch {
		case err == nil:
			c.security = cfg
		case c.security == nil:
			return nil, err
		default:
			c.options.Log.Warn("TLS files for xDS are used as last read", "error", err)
		}
		security = credentials.NewTLS(c.security.Clone())
	}
	conn, err := grpc.NewClient(c.options.Server,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.options.MaxMessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("xDS server %s: %w", c.options.Server, err)
	}
	return conn, nil
}

// node says who asks.
func (c *client) node() *core.Node {
	n := &core.Node{Id: c.options.NodeID, UserAgentName: "envoy-rls"}
	if len(c.options.NodeMetadata) > 0 {
		n.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for key, value := range c.options.NodeMetadata {
			n.Metadata.Fields[key] = structpb.NewStringValue(value)
		}
	}
	return n
}
