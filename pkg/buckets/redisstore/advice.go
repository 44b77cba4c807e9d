package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// advicePatience is how long a server may take to tell about itself.
const advicePatience = 500 * time.Millisecond

// Advice asks each server what its operator may want to hear: that it drops
// buckets when its memory is full, or that it is not of the kind that the
// options say. It is silent about servers that do not answer, and about what the
// user may not ask.
func (s *Store) Advice(ctx context.Context) []string {
	var lines []string
	for _, server := range s.advised() {
		lines = append(lines, s.adviceOn(ctx, server)...)
	}
	return lines
}

// advised is a server to ask.
type advised struct {
	name    string
	resolve func(context.Context) (string, error)
}

// advised lists the servers in use, else (no cluster answers like one) those of
// the options.
func (s *Store) advised() []advised {
	var servers []advised
	for _, n := range s.topology.nodes() {
		servers = append(servers, advised{n.name, n.resolve})
	}
	if len(servers) == 0 {
		for _, addr := range s.opt.Addrs {
			servers = append(servers, advised{addr, fixed(addr)})
		}
	}
	return servers
}

func (s *Store) adviceOn(ctx context.Context, server advised) []string {
	client := s.opt.client(advicePatience, server.resolve, nil)
	defer client.Close()
	var lines []string
	if info, err := client.Info(ctx, "cluster").Result(); err == nil {
		switch clustered := strings.Contains(info, "cluster_enabled:1"); {
		case clustered && s.opt.Kind != Cluster:
			lines = append(lines, fmt.Sprintf("Redis %s is a node of a Redis Cluster: it decides its own slots only; name the store redis-cluster://", server.name))
		case !clustered && s.opt.Kind == Cluster && strings.Contains(info, "cluster_enabled:0"):
			lines = append(lines, fmt.Sprintf("Redis %s is not a node of a Redis Cluster: name the store redis://", server.name))
		}
	}
	if config, err := client.ConfigGet(ctx, "maxmemory-policy").Result(); err == nil {
		policy := config["maxmemory-policy"]
		if strings.HasPrefix(policy, "allkeys-") || strings.HasPrefix(policy, "volatile-") {
			lines = append(lines, fmt.Sprintf("Redis %s has maxmemory-policy %s: when it is full it drops buckets, and their users start anew; set noeviction", server.name, policy))
		}
	}
	return lines
}
