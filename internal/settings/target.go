package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// The kinds of store.
const (
	Memory        = "memory"
	Redis         = "redis"
	RedisCluster  = "redis-cluster"
	RedisSentinel = "redis-sentinel"
)

// Target names a store: what a STORE URL says.
type Target struct {
	Kind    string
	Network string   // tcp or unix; "" for Memory
	Addrs   []string // host:port, or the path of a unix socket; of the sentinels for RedisSentinel
	TLS     bool

	Username, Password                 string
	SentinelUsername, SentinelPassword string
	DB                                 int
	Master                             string // RedisSentinel: the name of the master
}

// String is the target as a URL without its password.
func (t Target) String() string {
	if t.Kind == Memory {
		return "memory://"
	}
	var b strings.Builder
	switch {
	case t.Network == "unix":
		b.WriteString("unix://")
	case t.TLS:
		b.WriteString("rediss" + strings.TrimPrefix(t.Kind, "redis") + "://")
	default:
		b.WriteString(t.Kind + "://")
	}
	if t.Username != "" || t.Password != "" {
		b.WriteString(hidden + "@")
	}
	b.WriteString(strings.Join(t.Addrs, ","))
	if t.Master != "" {
		b.WriteString("/" + t.Master)
	}
	if t.DB != 0 {
		fmt.Fprintf(&b, "/%d", t.DB)
	}
	return b.String()
}

const wantStore = "memory://, redis://[user:password@]host:port[/db], rediss://…, unix:///path, redis-cluster://a:1,b:2 or redis-sentinel://a:1,b:2/MASTER[/db]"

// parseTarget reads a STORE URL. Errors do not repeat the URL, which may hold a
// password.
func parseTarget(text string) (Target, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return Target{}, errors.New("a store begins with its scheme and ://")
	}
	if strings.ContainsAny(rest, "?#") {
		return Target{}, errors.New("a store URL takes no parameters; write ? and # in a password as %3F and %23")
	}
	switch scheme {
	case "memory":
		if rest != "" {
			return Target{}, errors.New("nothing follows memory://")
		}
		return Target{Kind: Memory}, nil
	case "unix":
		return parseUnix(rest)
	}
	t := Target{Network: "tcp", TLS: strings.HasPrefix(scheme, "rediss")}
	t.Kind = "redis" + strings.TrimPrefix(strings.TrimPrefix(scheme, "rediss"), "redis")
	authority, path, _ := strings.Cut(rest, "/")
	hosts, err := t.cutUser(authority)
	if err != nil {
		return Target{}, err
	}
	switch t.Kind {
	case Redis:
		t.Addrs, err = parseHosts(hosts, "6379", 1)
		return t.withDB(path, err)
	case RedisCluster:
		if path != "" {
			return Target{}, errors.New("a cluster has no databases to choose from")
		}
		t.Addrs, err = parseHosts(hosts, "6379", 0)
		return t, err
	case RedisSentinel:
		if t.Master, path, _ = strings.Cut(path, "/"); t.Master == "" {
			return Target{}, errors.New("the name of the master is missing: redis-sentinel://host:port/MASTER")
		}
		t.Addrs, err = parseHosts(hosts, "26379", 0)
		return t.withDB(path, err)
	}
	return Target{}, fmt.Errorf("unknown scheme %q", scheme)
}

func parseUnix(rest string) (Target, error) {
	t := Target{Kind: Redis, Network: "unix"}
	user, path, found := strings.Cut(rest, "/")
	if user != "" && !strings.HasSuffix(user, "@") || !found || path == "" {
		return Target{}, errors.New("an absolute path follows unix://")
	}
	_, err := t.cutUser(user)
	t.Addrs = []string{"/" + path}
	return t, err
}

// cutUser takes user and password off the front of an authority.
func (t *Target) cutUser(authority string) (hosts string, err error) {
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return authority, nil
	}
	t.Username, t.Password, err = unescapeUser(authority[:at])
	return authority[at+1:], err
}

// unescapeUser reads user:password of a URL.
func unescapeUser(text string) (user, password string, err error) {
	user, password, _ = strings.Cut(text, ":")
	if user, err = url.PathUnescape(user); err == nil {
		password, err = url.PathUnescape(password)
	}
	if err != nil {
		return "", "", errors.New("a % in user or password that is not an escape: write it as %25")
	}
	return user, password, nil
}

func (t Target) withDB(path string, err error) (Target, error) {
	if err != nil || path == "" {
		return t, err
	}
	if t.DB, err = strconv.Atoi(path); err != nil || t.DB < 0 {
		return Target{}, errors.New("the number of a database follows the last /; write a / in a password as %2F")
	}
	return t, nil
}

// parseHosts reads hosts with commas between them; most = 0 takes any number.
func parseHosts(hosts, defaultPort string, most int) ([]string, error) {
	var addrs []string
	for item := range strings.SplitSeq(hosts, ",") {
		addr, err := parseHost(strings.TrimSpace(item), defaultPort)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	if most > 0 && len(addrs) > most {
		return nil, errors.New("several hosts: that is a redis-cluster:// or redis-sentinel://")
	}
	return addrs, nil
}

var errNoHost = errors.New("host:port is wanted, with a port from 1 to 65535")

func parseHost(item, defaultPort string) (string, error) {
	host, port := item, defaultPort
	if strings.LastIndexByte(item, ':') > strings.LastIndexByte(item, ']') {
		var err error
		if host, port, err = net.SplitHostPort(item); err != nil {
			return "", errNoHost
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if !isHost(host) {
		return "", errNoHost
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errNoHost
	}
	return net.JoinHostPort(host, port), nil
}

// isHost tells whether a text can be a name or an address, with a zone behind %.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == ""
}
