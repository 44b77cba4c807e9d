package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	const wait = 10 * time.Second
	single := func(addr string) Target { return Target{Kind: Redis, Network: "tcp", Addrs: []string{addr}} }
	files := TLS{CAFile: "/ca", CertFile: "/c", KeyFile: "/k", SkipHostname: true}
	secured := single("r:1")
	secured.TLS, secured.Username, secured.Password = true, "u", "p"
	named := single("r:1")
	named.Username = "u"
	guarded := Target{Kind: RedisSentinel, Network: "tcp", Addrs: []string{"s:26379"}, Master: "m", Password: "p", SentinelPassword: "sp"}
	second := single("q:1")
	second.TLS, second.Password = true, "q"
	for name, tt := range map[string]struct {
		words  []string
		main   Place
		second *Place
	}{
		"URL": {[]string{"STORE=rediss://u:p@r:1", "REDIS_TLS_CACERT=/ca", "REDIS_TLS_CLIENT_CERT=/c", "REDIS_TLS_CLIENT_KEY=/k", "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION=true"},
			Place{Target: secured, TLS: files, IOTimeout: wait}, nil},
		"URL without password":    {[]string{"STORE=redis://r:1", "REDIS_AUTH=u:p", "REDIS_TLS=true"}, Place{Target: secured, IOTimeout: wait}, nil},
		"password file":           {[]string{"STORE=redis://u@r:1", "REDIS_AUTH_FILE=/f"}, Place{Target: named, AuthFile: "/f", IOTimeout: wait}, nil},
		"sentinels with password": {[]string{"STORE=redis-sentinel://:p@s/m", "REDIS_SENTINEL_AUTH=sp"}, Place{Target: guarded, IOTimeout: wait}, nil},
		"per second": {[]string{"REDIS_URL=r:1", "REDIS_POOL_SIZE=3", "REDIS_PERSECOND=true", "REDIS_PERSECOND_URL=q:1", "REDIS_PERSECOND_AUTH=q", "REDIS_PERSECOND_TLS=true",
			"REDIS_PERSECOND_TIMEOUT=1s", "REDIS_PERSECOND_POOL_SIZE=4", "REDIS_TLS_CACERT=/ca"},
			Place{Target: single("r:1"), TLS: TLS{CAFile: "/ca"}, PoolSize: 3, IOTimeout: wait},
			&Place{Target: second, TLS: TLS{CAFile: "/ca"}, PoolSize: 4, IOTimeout: time.Second}},
		"per second, not asked for": {[]string{"REDIS_URL=r:1", "REDIS_PERSECOND_POOL_SIZE=4"}, Place{Target: single("r:1"), IOTimeout: wait}, nil},
	} {
		s, report := mustLoad(t, "envoy-rls", tt.words...)
		if diff := cmp.Diff(tt.main, s.Store.Place) + cmp.Diff(tt.second, s.Store.PerSecond); diff != "" || len(report.Warnings) > 0 {
			t.Errorf("%s: %q\n%s", name, report.Warnings, diff)
		}
	}
}

// What cannot be meant is refused in one line that names the setting.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"REDIS_URL=r REDIS_AUTH=p REDIS_AUTH_FILE=/f":                `REDIS_AUTH_FILE="/f": REDIS_AUTH is set, too: want one of them`,
		"STORE=redis://:p@r REDIS_AUTH_FILE=/f":                      `REDIS_AUTH_FILE="/f": the URL has a password, too: want one of them`,
		"REDIS_URL=/run/r.sock REDIS_TLS=true":                       `REDIS_TLS="true": the store is a unix socket, which has no TLS`,
		"REDIS_URL=r REDIS_TLS_CLIENT_CERT=/c":                       `REDIS_TLS_CLIENT_CERT="/c": want REDIS_TLS_CLIENT_KEY, too`,
		"REDIS_URL=redis://a:1/3 REDIS_TYPE=cluster":                 `REDIS_URL="redis://a:1/3": there is no database to choose: nothing follows host:port; ` + wantRedis,
		"REDIS_URL=r REDIS_PERSECOND=true":                           `REDIS_PERSECOND="true": want REDIS_PERSECOND_URL, too`,
		"STORE=memory:// REDIS_PERSECOND=true REDIS_PERSECOND_URL=r": `REDIS_PERSECOND="true": the other limits want a Redis, too: set REDIS_URL or STORE`,
		"REDIS_URL=r REDIS_PERSECOND=true REDIS_PERSECOND_URL=q REDIS_PERSECOND_AUTH=p REDIS_PERSECOND_AUTH_FILE=/f": `REDIS_PERSECOND_AUTH_FILE="/f": REDIS_PERSECOND_AUTH is set, too: want one of them`,
		"REDIS_URL=r REDIS_PERSECOND=true REDIS_PERSECOND_URL=redis://:hunter2@q:x":                                  `REDIS_PERSECOND_URL="redis://***@q:x": host:port is wanted, with a port from 1 to 65535; ` + wantRedis,
	} {
		_, _, err := load("envoy-rls", strings.Fields(words)...)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", words, err, want)
		}
	}
}

// What the rest leaves without effect is said.
func TestIdleSettings(t *testing.T) {
	t.Parallel()
	_, report := mustLoad(t, "envoy-rls", "REDIS_URL=r", "REDIS_TLS_CACERT=/ca", "REDIS_SENTINEL_AUTH=p", "REDIS_PERSECOND_URL=q")
	want := []string{
		"REDIS_TLS_* do nothing without REDIS_TLS or a rediss:// URL",
		"REDIS_SENTINEL_AUTH does nothing: the store has no sentinels",
		"REDIS_PERSECOND_URL does nothing without REDIS_PERSECOND",
	}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
	_, report = mustLoad(t, "envoy-rls", "BACKEND_TYPE=redis")
	want = []string{"BACKEND_TYPE=redis names no Redis: buckets are kept in this process; set REDIS_URL or STORE"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
	_, report = mustLoad(t, "envoy-rls", "STORE=rediss://r", "REDIS_TLS_SKIP_VERIFY=true")
	want = []string{"REDIS_TLS_SKIP_VERIFY is true: any certificate passes for Redis', and passwords go to whoever shows one"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
	s, report := mustLoad(t, "envoy-rls", "STORE=redis://:p@r", "REDIS_AUTH=other")
	want = []string{"REDIS_AUTH does nothing: STORE says all of it"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" || s.Store.Target.Password != "p" {
		t.Errorf("password %q: %s", s.Store.Target.Password, diff)
	}
}
