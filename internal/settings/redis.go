package settings

import (
	"errors"
	"strings"
)

// redis holds the settings of one Redis as given: REDIS_* or REDIS_PERSECOND_*.
type redis struct {
	url, socket, topology        string
	auth, authFile, sentinelAuth string
	tls                          bool
}

// target is the store that the settings name. Errors do not repeat their values.
func (r *redis) target() (Target, error) {
	if r.socket == "unix" && r.topology != "" && r.topology != "single" {
		return Target{}, errors.New("a unix socket leads to one server, not to sentinels or a cluster")
	}
	switch r.topology {
	case "cluster":
		t := Target{Kind: RedisCluster, Network: "tcp"}
		return t, t.addHosts(r.url, "6379")
	case "sentinel":
		master, hosts, found := strings.Cut(r.url, ",")
		if !found {
			return Target{}, errors.New("with sentinels it is MASTER,host:port,…")
		}
		t := Target{Kind: RedisSentinel, Network: "tcp", Master: master}
		err := t.addHosts(hosts, "26379")
		if err == nil && t.Username+t.Password != "" {
			err = errors.New("passwords of sentinels and of their master have settings of their own")
		}
		return t, err
	}
	return r.single()
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
		return Target{}, errors.New("a socket of type tcp wants host:port")
	case isPath:
		return Target{Kind: Redis, Network: "unix", Addrs: []string{r.url}}, nil
	case r.socket == "unix":
		return Target{}, errors.New("a socket of type unix wants the absolute path of a socket")
	}
	addrs, err := parseHosts(r.url, "6379", 1)
	return Target{Kind: Redis, Network: "tcp", Addrs: addrs}, err
}

// addHosts reads a list of hosts, each plain or as a URL. What the URLs say
// beside the host holds for all of them.
func (t *Target) addHosts(list, defaultPort string) error {
	var before string
	for i, item := range strings.Split(list, ",") {
		scheme, rest, found := strings.Cut(strings.TrimSpace(item), "://")
		if !found {
			scheme, rest = "redis", scheme
		}
		if scheme != "redis" && scheme != "rediss" {
			return errors.New("hosts are host:port, redis://… or rediss://…")
		}
		user, host := "", rest
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			user, host = rest[:at+1], rest[at+1:]
		}
		if i > 0 && scheme+user != before {
			return errors.New("all hosts want the same scheme, user and password")
		}
		before = scheme + user
		if strings.Contains(host, "/") {
			return errors.New("there is no database to choose: nothing follows host:port")
		}
		addr, err := parseHost(host, defaultPort)
		if err == nil {
			_, err = t.cutUser(user)
		}
		if err != nil {
			return err
		}
		t.TLS = scheme == "rediss"
		t.Addrs = append(t.Addrs, addr)
	}
	return nil
}

// complete adds to a target what its URL leaves to other settings, whose names
// begin with prefix. It returns what cannot be meant; nil = all is well.
func (r *redis) complete(t *Target, prefix string, authWins bool) *Problem {
	inURL := t.Password != ""
	switch {
	case r.auth != "" && r.authFile != "":
		return &Problem{prefix + "AUTH_FILE", r.authFile, prefix + "AUTH is set, too: want one of them"}
	case r.authFile != "" && inURL:
		return &Problem{prefix + "AUTH_FILE", r.authFile, "the URL has a password, too: want one of them"}
	case r.tls && t.Network == "unix":
		return &Problem{prefix + "TLS", "true", "the store is a unix socket, which has no TLS"}
	}
	if r.auth != "" && (authWins || !inURL) {
		t.Username, t.Password = ParseAuth(r.auth)
	}
	t.TLS = t.TLS || r.tls
	if t.Kind == RedisSentinel {
		t.SentinelUsername, t.SentinelPassword = ParseAuth(r.sentinelAuth)
	}
	return nil
}

// ParseAuth reads password, or user:password: what REDIS_AUTH and the file of
// REDIS_AUTH_FILE hold.
func ParseAuth(auth string) (user, password string) {
	if user, password, found := strings.Cut(auth, ":"); found {
		return user, password
	}
	return "", auth
}
