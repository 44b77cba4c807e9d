package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]Target{
		"memory://":                        {Kind: Memory},
		"redis://r":                        {Kind: Redis, Network: "tcp", Addrs: []string{"r:6379"}},
		"redis://r:1/3":                    {Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, DB: 3},
		"redis://[::1]:7":                  {Kind: Redis, Network: "tcp", Addrs: []string{"[::1]:7"}},
		"redis://[fe80::1%eth0]:7":         {Kind: Redis, Network: "tcp", Addrs: []string{"[fe80::1%eth0]:7"}},
		"redis://[::1]":                    {Kind: Redis, Network: "tcp", Addrs: []string{"[::1]:6379"}},
		"redis://:p%40ss@r":                {Kind: Redis, Network: "tcp", Addrs: []string{"r:6379"}, Password: "p@ss"},
		"redis://u:a@b@r":                  {Kind: Redis, Network: "tcp", Addrs: []string{"r:6379"}, Username: "u", Password: "a@b"},
		"rediss://u:p@r:1":                 {Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, TLS: true, Username: "u", Password: "p"},
		"unix:///run/redis.sock":           {Kind: Redis, Network: "unix", Addrs: []string{"/run/redis.sock"}},
		"unix://u:p@/run/redis.sock":       {Kind: Redis, Network: "unix", Addrs: []string{"/run/redis.sock"}, Username: "u", Password: "p"},
		"redis-cluster://a:1,b":            {Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1", "b:6379"}},
		"rediss-cluster://:p@a:1, b:2":     {Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1", "b:2"}, TLS: true, Password: "p"},
		"redis-sentinel://a,b:2/main":      {Kind: RedisSentinel, Network: "tcp", Addrs: []string{"a:26379", "b:2"}, Master: "main"},
		"rediss-sentinel://u:p@a:1/main/4": {Kind: RedisSentinel, Network: "tcp", Addrs: []string{"a:1"}, Master: "main", DB: 4, TLS: true, Username: "u", Password: "p"},
	} {
		got, err := parseTarget(url)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", url, err, diff)
		}
	}
	for _, url := range []string{
		"", "memory", "memory://x", "redis://", "redis://r:0", "redis://r:65536", "redis://a,b", "redis://r/x", "redis://r/-1",
		"redis://r?db=1", "redis://u:%zz@r", "unix://", "unix://run/x", "unix:///", "redis-cluster://a/1", "redis-cluster://a,,b",
		"redis-sentinel://a", "redis-sentinel:///m", "redis-sentinel://a/m/x", "memcache://m", "http://r",
		"redis://u:p@%zz", "redis://a b", "redis://[::1", "redis://{r}", "redis://$(REDIS_HOST):6379",
	} {
		if got, err := parseTarget(url); err == nil {
			t.Errorf("%s: taken as %+v", url, got)
		}
	}
}

func TestReferenceTarget(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		redis redis
		want  Target
	}{
		"host:port":               {redis{url: "r:1", socket: "tcp"}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}}},
		"host:port, no type":      {redis{url: "r:1"}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}}},
		"socket":                  {redis{url: "/run/r.sock", socket: "unix"}, Target{Kind: Redis, Network: "unix", Addrs: []string{"/run/r.sock"}}},
		"URL":                     {redis{url: "redis://:p@r:1/2", socket: "tcp"}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, Password: "p", DB: 2}},
		"password":                {redis{url: "r:1", auth: "p"}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, Password: "p"}},
		"user and password":       {redis{url: "redis://:x@r:1", auth: "u:p:q"}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, Username: "u", Password: "p:q"}},
		"TLS":                     {redis{url: "r:1", tls: true}, Target{Kind: Redis, Network: "tcp", Addrs: []string{"r:1"}, TLS: true}},
		"cluster":                 {redis{url: "a:1,b:2", topology: "cluster"}, Target{Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1", "b:2"}}},
		"cluster of URLs":         {redis{url: "redis://a:1,redis://b:2", topology: "cluster"}, Target{Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1", "b:2"}}},
		"sentinel":                {redis{url: "main,a:1,b:2", topology: "sentinel", auth: "p", sentinelAuth: "u:s"}, Target{Kind: RedisSentinel, Network: "tcp", Addrs: []string{"a:1", "b:2"}, Master: "main", Password: "p", SentinelUsername: "u", SentinelPassword: "s"}},
		"cluster of secured URLs": {redis{url: "rediss://u:p@a:1,rediss://u:p@b:2", topology: "cluster"}, Target{Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1", "b:2"}, TLS: true, Username: "u", Password: "p"}},
		"one host is no cluster":  {redis{url: "a:1", topology: "cluster"}, Target{Kind: RedisCluster, Network: "tcp", Addrs: []string{"a:1"}}},
	} {
		got, err := tt.redis.target()
		if problem := tt.redis.complete(&got, "REDIS_", true); problem != nil {
			t.Errorf("%s: %v", name, problem)
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, r := range map[string]redis{
		"no sentinels":           {url: "main", topology: "sentinel"},
		"several hosts":          {url: "a:1,b:2"},
		"a socket by tcp":        {url: "/run/x", socket: "tcp"},
		"a host by socket":       {url: "r:1", socket: "unix"},
		"memory":                 {url: "memory://"},
		"cluster URL":            {url: "redis-cluster://a:1"},
		"a cluster's database":   {url: "redis://a:1/2,redis://b:1/2", topology: "cluster"},
		"a cluster by socket":    {url: "/run/x", topology: "cluster", socket: "unix"},
		"hosts that differ":      {url: "redis://:p@a:1,b:2", topology: "cluster"},
		"a cluster of sentinels": {url: "redis-sentinel://a:1", topology: "cluster"},
		"sentinels' passwords":   {url: "main,redis://:p@a:1", topology: "sentinel"},
	} {
		if got, err := r.target(); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
}

// No text makes parsing panic, and no error repeats a password.
func TestTargetProperties(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	rapid.Check(t, func(t *rapid.T) {
		scheme := rapid.SampledFrom([]string{"redis", "rediss", "unix", "redis-cluster", "redis-sentinel", "nosql"}).Draw(t, "scheme")
		before := rapid.StringMatching(`[a-z:/%@,?#\[\]]{0,6}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z:/%@,?#\[\]0-9]{0,8}`).Draw(t, "after")
		url := scheme + "://" + before + secret + after
		if _, err := parseTarget(url); err != nil && strings.Contains(err.Error(), secret) {
			t.Fatalf("%s: the error repeats the secret: %v", url, err)
		}
		if shown := maskURL(scheme + "://u:" + before + secret + after + "@host"); strings.Contains(shown, secret) {
			t.Fatalf("masked as %s", shown)
		}
	})
}
