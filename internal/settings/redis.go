package settings

import (
	"errors"
	"strings"
)

// target is the store that the REDIS_* settings name. Errors do not repeat
// their values.
func (r *redis) target() (Target, error) {
	var t Target
	var err error
	switch r.topology {
	case "cluster":
		t = Target{Kind: RedisCluster, Network: "tcp"}
		t.Addrs, err = parseHosts(stripSchemes(r.url), "6379", 0)
	case "sentinel":
		master, hosts, found := strings.Cut(r.url, ",")
		if !found {
			return Target{}, errors.New("REDIS_TYPE=sentinel wants MASTER,host:port,…")
		}
		t = Target{Kind: RedisSentinel, Network: "tcp", Master: master}
		t.Addrs, err = parseHosts(stripSchemes(hosts), "26379", 0)
	default:
		t, err = r.single()
	}
	if err != nil {
		return Target{}, err
	}
	if r.auth != "" {
		t.Username, t.Password = parseAuth(r.auth)
	}
	t.SentinelUsername, t.SentinelPassword = parseAuth(r.sentinelAuth)
	t.TLS = t.TLS || r.tls
	return t, nil
}

// single reads the URL of one Redis: a URL, the path of a socket, or host:port.
// The socket type is needed only where the text leaves it open.
func (r *redis) single() (Target, error) {
	if strings.Contains(r.url, "://") {
		t, err := parseTarget(r.url)
		if err == nil && t.Kind != Redis {
			err = errors.New("a redis://, rediss:// or unix:// URL is wanted; other stores go into STORE")
		}
		return t, err
	}
	isPath := strings.HasPrefix(r.url, "/")
	switch {
	case isPath && r.socket == "tcp":
		return Target{}, errors.New("REDIS_SOCKET_TYPE=tcp wants host:port")
	case isPath:
		return Target{Kind: Redis, Network: "unix", Addrs: []string{r.url}}, nil
	case r.socket == "unix":
		return Target{}, errors.New("REDIS_SOCKET_TYPE=unix wants the absolute path of a socket")
	}
	addrs, err := parseHosts(r.url, "6379", 1)
	return Target{Kind: Redis, Network: "tcp", Addrs: addrs}, err
}

// stripSchemes takes redis:// off the hosts of a list.
func stripSchemes(hosts string) string {
	return strings.ReplaceAll(hosts, "redis://", "")
}

// parseAuth reads password, or user:password.
func parseAuth(auth string) (user, password string) {
	if user, password, found := strings.Cut(auth, ":"); found {
		return user, password
	}
	return "", auth
}
