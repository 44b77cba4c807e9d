package main

import (
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

const threeADay = "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 3}}]\n"

// topology is a Redis of some kind, and the settings that lead to it: by STORE,
// and by the names of envoyproxy/ratelimit.
type topology struct {
	name    string
	servers []*redistest.Server
	store   []string
	redis   []string
	secrets []string // that must not be logged
}

// The command reaches each kind of Redis by either kind of setting, counts there,
// and keeps its passwords to itself.
func TestTopologies(t *testing.T) {
	t.Parallel()
	for _, of := range []func(*testing.T) topology{oneServer, oneSocket, overTLS, behindSentinels, aCluster} {
		top := of(t)
		for names, environ := range map[string][]string{"STORE": top.store, "REDIS": top.redis} {
			t.Run(top.name+" by "+names, func(t *testing.T) {
				top.serve(t, environ, "ann-by-"+names)
			})
		}
	}
}

// serve lets the three of a limit pass and no more.
func (top topology) serve(t *testing.T, environ []string, user string) {
	rules := t.TempDir()
	writeRules(t, rules, "shop.yaml", threeADay)
	s := startIn(t, environ, "--rules="+rules, "--store-timeout=2s")
	until(t, "it is ready", s.ready)
	for _, want := range []int{200, 200, 200, 429} {
		if code, text := s.ask("shop", "user", user); code != want {
			t.Errorf("%d, want %d: %s", code, want, text)
		}
	}
	buckets := 0
	for _, server := range top.servers {
		buckets += len(server.Client().MustDo(t, "KEYS", "*user="+user+"*").([]any))
	}
	if buckets != 1 {
		t.Errorf("%d buckets, want 1", buckets)
	}
	for _, line := range s.raw {
		for _, secret := range top.secrets {
			if strings.Contains(line, secret) {
				t.Errorf("the log has a password: %s", line)
			}
		}
	}
}

// oneServer has a user whose name and password are odd: percent-encoded in a URL,
// and in the clear after REDIS_AUTH.
func oneServer(t *testing.T) topology {
	server := redistest.Start(t)
	server.Client().MustDo(t, "ACL", "SETUSER", "li@mi/ter", "on", ">pa:ss@w%rd", "~*", "+@all")
	return topology{
		name: "one server", servers: []*redistest.Server{server},
		store:   []string{"STORE=redis://li%40mi%2Fter:pa%3Ass%40w%25rd@" + server.Addr + "/0"},
		redis:   []string{"REDIS_URL=" + server.Addr, "REDIS_AUTH=li@mi/ter:pa:ss@w%rd", "REDIS_TYPE=single"},
		secrets: []string{"pa:ss@w%rd", "pa%3Ass%40w%25rd"},
	}
}

func oneSocket(t *testing.T) topology {
	path := t.TempDir() + "/redis.sock"
	return topology{
		name: "a socket", servers: []*redistest.Server{redistest.Start(t, "--unixsocket", path)},
		store: []string{"STORE=unix://" + path},
		redis: []string{"REDIS_SOCKET_TYPE=unix", "REDIS_URL=" + path},
	}
}

func overTLS(t *testing.T) topology {
	server := redistest.StartTLS(t)
	files := []string{"REDIS_TLS_CACERT=" + server.CAFile, "REDIS_TLS_CLIENT_CERT=" + server.CertFile, "REDIS_TLS_CLIENT_KEY=" + server.KeyFile}
	return topology{
		name: "TLS", servers: []*redistest.Server{server.Server},
		store: append([]string{"STORE=rediss://" + server.Addr}, files...),
		redis: append([]string{"REDIS_URL=" + server.Addr, "REDIS_TLS=true"}, files...),
	}
}

func behindSentinels(t *testing.T) topology {
	group := redistest.StartSentinel(t, "s3cret", "s3ntinel")
	addrs := strings.Join(group.Addrs(), ",")
	sentinels := []string{"REDIS_SENTINEL_AUTH=s3ntinel"}
	return topology{
		name: "sentinels", servers: []*redistest.Server{group.Master()},
		store:   append([]string{"STORE=redis-sentinel://:s3cret@" + addrs + "/" + redistest.MasterName}, sentinels...),
		redis:   append([]string{"REDIS_TYPE=sentinel", "REDIS_URL=" + redistest.MasterName + "," + addrs, "REDIS_AUTH=s3cret"}, sentinels...),
		secrets: []string{"s3cret", "s3ntinel"},
	}
}

func aCluster(t *testing.T) topology {
	cluster := redistest.StartCluster(t)
	addrs := strings.Join(cluster.Addrs(), ",")
	return topology{
		name: "a cluster", servers: cluster.Masters(),
		store: []string{"STORE=redis-cluster://" + addrs},
		redis: []string{"REDIS_TYPE=cluster", "REDIS_URL=" + addrs},
	}
}
