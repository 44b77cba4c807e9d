package settings

import (
	"path/filepath"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Store says where buckets are kept and how the server treats the place.
type Store struct {
	Place
	// PerSecond is where those of limits with a window of one second are kept;
	// nil = with the others.
	PerSecond  *Place
	Timeout    time.Duration // the budget of a call
	Replicas   int
	MaxBuckets int // embedded store
	KeyPrefix  string
	DenyCache  bool // not for the embedded store
	Batch      bool // calls share round trips
	HashKey    string

	url          string
	backend      string
	redis        redis
	wantSecond   bool
	second       redis
	secondPlace  Place // pool size and timeout
	certificates TLS
}

// Place is a store, and how connections to it are made.
type Place struct {
	Target Target
	// AuthFile holds password or user:password, read for each new connection;
	// "" = what Target says.
	AuthFile  string
	TLS       TLS           // if Target.TLS
	PoolSize  int           // connections to a server; 0 = the store's default
	IOTimeout time.Duration // of a connection
}

// TLS names the files that secure connections to Redis.
type TLS struct {
	CAFile, CertFile, KeyFile string // "" = the system's authorities; no client certificate
	SkipHostname, SkipVerify  bool
}

// deriveStore finds the places of buckets.
func (l *loader) deriveStore(values map[string]given) {
	st := &l.settings.Store
	keyer := buckets.Keyer{Prefix: st.KeyPrefix}
	if err := keyer.Check(); err != nil {
		l.refuse(nameOf(values, "CACHE_KEY_PREFIX"), st.KeyPrefix, err.Error())
	}
	asRatelimit := filepath.Base(l.in.Program) == RatelimitProgram
	if st.backend == "memcache" && (asRatelimit || st.url == "") {
		l.refuse(nameOf(values, "BACKEND_TYPE"), "memcache", "memcached is not a store here: set REDIS_URL or STORE")
		return
	}
	for _, name := range []string{"STORE", "REDIS_URL"} {
		if text, set := l.env[name]; set && text == "" && st.url == "" && !asRatelimit {
			l.warn("%s is set but empty: taken as unset", name)
		}
	}
	l.deriveRedisTLS(values)
	l.deriveMain(values, asRatelimit)
	if st.wantSecond && len(l.problems) == 0 {
		l.derivePerSecond(values)
	}
	l.warnIdle(values)
}

func (l *loader) deriveMain(values map[string]given, asRatelimit bool) {
	st := &l.settings.Store
	name, want := "STORE", "want "+wantStore
	var err error
	switch {
	case st.url != "":
		st.Target, err = parseTarget(st.url)
	case st.redis.url != "":
		name, want = "REDIS_URL", wantRedis
		st.Target, err = st.redis.target()
	case asRatelimit:
		l.refuse("STORE", "", "started as ratelimit there is no default store, so that no fleet counts by process unnoticed: set REDIS_URL, or STORE=memory:// to count in this process")
		return
	default:
		st.Target = Target{Kind: Memory}
	}
	if err != nil {
		l.refuse(nameOf(values, name), maskURL(values[name].text), err.Error()+"; "+want)
		return
	}
	l.completePlace(&st.Place, &st.redis, "REDIS_", st.url == "")
}

const wantRedis = "want host:port, the path of a socket, or a redis:// URL"

// derivePerSecond reads the second Redis.
func (l *loader) derivePerSecond(values map[string]given) {
	st := &l.settings.Store
	name := nameOf(values, "REDIS_PERSECOND")
	switch {
	case st.Target.Kind == Memory:
		l.refuse(name, "true", "the other limits want a Redis, too: set REDIS_URL or STORE")
		return
	case st.second.url == "":
		l.refuse(name, "true", "want REDIS_PERSECOND_URL, too")
		return
	}
	place := st.secondPlace
	var err error
	if place.Target, err = st.second.target(); err != nil {
		l.refuse(nameOf(values, "REDIS_PERSECOND_URL"), maskURL(values["REDIS_PERSECOND_URL"].text), err.Error()+"; "+wantRedis)
		return
	}
	l.completePlace(&place, &st.second, "REDIS_PERSECOND_", true)
	st.PerSecond = &place
}

func (l *loader) completePlace(p *Place, r *redis, prefix string, authWins bool) {
	if p.Target.Kind == Memory {
		return
	}
	if problem := r.complete(&p.Target, prefix, authWins); problem != nil {
		l.problems = append(l.problems, *problem)
	}
	p.AuthFile, p.TLS = r.authFile, l.settings.Store.certificates
}

func (l *loader) deriveRedisTLS(values map[string]given) {
	c := &l.settings.Store.certificates
	switch {
	case c.CertFile != "" && c.KeyFile == "":
		l.refuse(nameOf(values, "REDIS_TLS_CLIENT_CERT"), c.CertFile, "want REDIS_TLS_CLIENT_KEY, too")
	case c.KeyFile != "" && c.CertFile == "":
		l.refuse(nameOf(values, "REDIS_TLS_CLIENT_KEY"), c.KeyFile, "want REDIS_TLS_CLIENT_CERT, too")
	}
}

// warnIdle tells of settings that the rest leaves without effect.
func (l *loader) warnIdle(values map[string]given) {
	st := &l.settings.Store
	if st.backend == "redis" && st.Target.Kind == Memory {
		l.warn("%s=redis names no Redis: buckets are kept in this process; set REDIS_URL or STORE", nameOf(values, "BACKEND_TYPE"))
	}
	secured := st.Target.TLS || st.PerSecond != nil && st.PerSecond.Target.TLS
	if st.certificates != (TLS{}) && !secured {
		l.warn("REDIS_TLS_* do nothing without REDIS_TLS or a rediss:// URL")
	}
	if st.certificates.SkipVerify && secured {
		l.warn("%s is true: any certificate passes for Redis', and passwords go to whoever shows one", nameOf(values, "REDIS_TLS_SKIP_VERIFY"))
	}
	if st.redis.sentinelAuth != "" && st.Target.Kind != RedisSentinel {
		l.warn("%s does nothing: the store has no sentinels", nameOf(values, "REDIS_SENTINEL_AUTH"))
	}
	if _, password := ParseAuth(st.redis.auth); password != "" && password != st.Target.Password && st.url != "" {
		l.warn("%s does nothing: STORE says all of it", nameOf(values, "REDIS_AUTH"))
	}
	if st.second.url != "" && !st.wantSecond {
		l.warn("%s does nothing without REDIS_PERSECOND", nameOf(values, "REDIS_PERSECOND_URL"))
	}
}
