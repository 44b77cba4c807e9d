package settings

import (
	"errors"
	"flag"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// load reads words: those that begin with dashes are flags, the others
// variables.
func load(program string, words ...string) (*Settings, *Report, error) {
	in := Input{Program: program, Exists: func(string) bool { return false }}
	for _, w := range words {
		if strings.HasPrefix(w, "--") {
			in.Args = append(in.Args, w)
		} else {
			in.Environ = append(in.Environ, w)
		}
	}
	return Load(in)
}

func mustLoad(t *testing.T, program string, words ...string) (*Settings, *Report) {
	t.Helper()
	s, report, err := load(program, words...)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return s, report
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, report := mustLoad(t, "envoy-rls")
	if len(report.Warnings) > 0 {
		t.Errorf("warnings without a setting: %q", report.Warnings)
	}
	type view struct {
		GRPC, HTTP, Debug, Metrics, Path string
		Age, Grace, Drain, Shutdown      time.Duration
		Rules                            []string
		Store                            string
		Timeout                          time.Duration
		Algorithm                        buckets.Algorithm
		OnStoreError                     descriptors.StorePolicy
		Level                            slog.Level
		Format                           string
		Headers                          []string
		Near                             float64
	}
	got := view{s.GRPC.String(), s.HTTP.String(), s.Debug.String(), s.Metrics.Addr, s.Metrics.Path,
		s.GRPC.MaxConnectionAge, s.GRPC.MaxConnectionAgeGrace, s.Life.DrainDelay, s.Life.ShutdownTimeout,
		s.Rules.Paths, s.Store.Target.String(), s.Store.Timeout, s.Rules.Algorithm, s.Rules.OnStoreError,
		s.Log.Level, s.Log.Format, s.Answer.Headers, s.Answer.NearLimitRatio}
	want := view{":8081", ":8080", "127.0.0.1:6070", ":9090", "/metrics",
		30 * time.Minute, 30 * time.Second, 10 * time.Second, 25 * time.Second,
		[]string{"/srv/runtime_data/current/config"}, "memory://", 100 * time.Millisecond, buckets.TokenBucket, descriptors.PolicyError,
		slog.LevelInfo, "text", nil, 0.8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// S10: whoever does not ask for more gets a debug port for this machine only.
func TestS10_DebugListensOnLoopback(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{nil, {"HOST=::"}, {"DEBUG_PORT=1"}, {"PROFILE=ratelimit"}} {
		if s, _ := mustLoad(t, "envoy-rls", words...); s.Debug.Host != "127.0.0.1" {
			t.Errorf("%q: the debug port listens on %q", words, s.Debug.Host)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		words []string
		want  int // GRPC port
	}{
		"default":               {nil, 8081},
		"environment":           {[]string{"GRPC_PORT=1"}, 1},
		"flag":                  {[]string{"--grpc-port=2"}, 2},
		"flag over environment": {[]string{"GRPC_PORT=1", "--grpc-port=2"}, 2},
		"last flag":             {[]string{"--grpc-port=2", "--grpc-port=3"}, 3},
		"empty variable":        {[]string{"GRPC_PORT="}, 8081},
	} {
		if s, _ := mustLoad(t, "envoy-rls", tt.words...); s.GRPC.Port != tt.want {
			t.Errorf("%s: port %d, want %d", name, s.GRPC.Port, tt.want)
		}
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	const store = "STORE=memory://"
	for name, tt := range map[string]struct {
		program   string
		words     []string
		profile   Profile
		algorithm buckets.Algorithm
		age       time.Duration
	}{
		"native":                       {"/usr/bin/envoy-rls", nil, Native, buckets.TokenBucket, 30 * time.Minute},
		"asked for":                    {"envoy-rls", []string{"PROFILE=Ratelimit"}, Ratelimit, buckets.FixedWindow, 24 * time.Hour},
		"by name":                      {"/bin/ratelimit", []string{store}, Ratelimit, buckets.FixedWindow, 24 * time.Hour},
		"by name, refused":             {"/bin/ratelimit", []string{store, "--profile=native"}, Native, buckets.TokenBucket, 30 * time.Minute},
		"an explicit setting wins":     {"/bin/ratelimit", []string{store, "DEFAULT_ALGORITHM=gcra"}, Ratelimit, buckets.GCRA, 24 * time.Hour},
		"an explicit flag wins":        {"/bin/ratelimit", []string{store, "--grpc-max-connection-age=1h"}, Ratelimit, buckets.FixedWindow, time.Hour},
		"a flag beats the environment": {"envoy-rls", []string{"PROFILE=native", "--profile=ratelimit"}, Ratelimit, buckets.FixedWindow, 24 * time.Hour},
	} {
		s, _ := mustLoad(t, tt.program, tt.words...)
		if s.Rules.Profile != tt.profile || s.Rules.Algorithm != tt.algorithm || s.GRPC.MaxConnectionAge != tt.age {
			t.Errorf("%s: %v %v %v", name, s.Rules.Profile, s.Rules.Algorithm, s.GRPC.MaxConnectionAge)
		}
	}
}

// Started as ratelimit, nothing counts by process unnoticed.
func TestRatelimitHasNoDefaultStore(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		nil,
		{"REDIS_URL="},
		{"STORE="},
		{"BACKEND_TYPE=memcache", "MEMCACHE_HOST_PORT=m:11211"},
		{"BACKEND_TYPE=memcache", "STORE=memory://"},
	} {
		if _, _, err := load("/bin/ratelimit", words...); err == nil {
			t.Errorf("%q: started", words)
		}
	}
	if _, _, err := load("envoy-rls", "BACKEND_TYPE=memcache"); err == nil {
		t.Error("memcache without a store: started")
	}
	s, _ := mustLoad(t, "/bin/ratelimit", "REDIS_URL=redis:6379", "REDIS_SOCKET_TYPE=tcp")
	if got := s.Store.Target.String(); got != "redis://redis:6379" {
		t.Errorf("store %s", got)
	}
}

func TestRulePaths(t *testing.T) {
	t.Parallel()
	const here = "./config"
	for name, tt := range map[string]struct {
		words  []string
		exists bool
		want   []string
	}{
		"defaults":                  {nil, false, []string{"/srv/runtime_data/current/config"}},
		"./config":                  {nil, true, []string{here}},
		"app directory alone":       {[]string{"RUNTIME_APPDIRECTORY=x"}, true, []string{here}},
		"root":                      {[]string{"RUNTIME_ROOT=/data"}, true, []string{"/data/config"}},
		"root and subdirectory":     {[]string{"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit"}, true, []string{"/data/ratelimit/config"}},
		"subdirectory":              {[]string{"RUNTIME_SUBDIRECTORY=r", "RUNTIME_APPDIRECTORY=a"}, true, []string{"/srv/runtime_data/current/r/a"}},
		"RULES":                     {[]string{"RUNTIME_ROOT=/data", "RULES=a.yaml, b"}, true, []string{"a.yaml", "b"}},
		"--rules, several":          {[]string{"RULES=c", "--rules=a,b", "--rules=d"}, true, []string{"a", "b", "d"}},
		"a root that is set, empty": {[]string{"RUNTIME_ROOT="}, true, []string{here}},
	} {
		in := Input{Exists: func(path string) bool { return tt.exists && path == here }}
		for _, w := range tt.words {
			if strings.HasPrefix(w, "--") {
				in.Args = append(in.Args, w)
			} else {
				in.Environ = append(in.Environ, w)
			}
		}
		s, _, err := Load(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(s.Rules.Paths, tt.want) {
			t.Errorf("%s: %q, want %q", name, s.Rules.Paths, tt.want)
		}
	}
}

// C28: what does not parse is one clear line, never a panic, never the default
// in its place.
func TestC28_ValuesThatDoNotParse(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"GRPC_PORT=http":                     `GRPC_PORT="http": want a port from 0 to 65535`,
		"--grpc-port=65536":                  `--grpc-port="65536": want a port from 0 to 65535`,
		"PORT=-1":                            `PORT="-1": want a port from 0 to 65535`,
		"HOST=1.2.3.4:80":                    `HOST="1.2.3.4:80": want an address or a host name, without a port`,
		"PROMETHEUS_ADDR=9090":               `PROMETHEUS_ADDR="9090": want host:port, or :port for all addresses`,
		"PROMETHEUS_PATH=metrics":            `PROMETHEUS_PATH="metrics": want a path that begins with /`,
		"REDIS_TYPE=Clutser":                 `REDIS_TYPE="Clutser": want one of single, cluster, sentinel`,
		"REDIS_PERSECOND=yes":                `REDIS_PERSECOND="yes": want true or false`,
		"SHADOW_MODE=maybe":                  `SHADOW_MODE="maybe": want true or false`,
		"DRAIN_DELAY=10":                     `DRAIN_DELAY="10": want a duration such as 100ms, 10s or 30m`,
		"DRAIN_DELAY=-1s":                    `DRAIN_DELAY="-1s": want a duration such as 100ms, 10s or 30m`,
		"DRAIN_DELAY=1m":                     `DRAIN_DELAY="1m0s": want at most SHUTDOWN_TIMEOUT (25s), which includes it`,
		"STORE_TIMEOUT=0s":                   `STORE_TIMEOUT="0s": want a duration such as 100ms, 10s or 30m, at least 1ms`,
		"REPLICAS=0":                         `REPLICAS="0": want a whole number from 1 to 1000000`,
		"NEAR_LIMIT_RATIO=NaN":               `NEAR_LIMIT_RATIO="NaN": want a number above 0, at most 1`,
		"DEFAULT_ALGORITHM=bucket":           `DEFAULT_ALGORITHM="bucket": want one of token_bucket, fixed_window, sliding_window_log, sliding_window_counter, leaky_bucket, gcra`,
		"ON_STORE_ERROR=open":                `ON_STORE_ERROR="open": want one of error, allow, deny, local`,
		"RESPONSE_HEADERS=ratelimit,retry":   `RESPONSE_HEADERS="ratelimit,retry": want any of ratelimit, x-ratelimit, rule, with commas between them`,
		"LIMIT_RESET_HEADER=Reset In":        `LIMIT_RESET_HEADER="Reset In": want the name of an HTTP header`,
		"LOG_LEVEL=loud":                     `LOG_LEVEL="loud": want one of debug, info, warn, error`,
		"CACHE_KEY_PREFIX={a}":               `CACHE_KEY_PREFIX="{a}": key prefix "{a}": visible ASCII without braces only`,
		"--rules=":                           `--rules: want values with commas between them`,
		"CONFIG_TYPE=GRPC_XDS":               `CONFIG_TYPE="GRPC_XDS": want one of FILE, GRPC_XDS_SOTW`,
		"CONFIG_GRPC_XDS_NODE_METADATA=k:v":  `CONFIG_GRPC_XDS_NODE_METADATA="k:v": want pairs such as k=v,k2=v2`,
		"XDS_CLIENT_BACKOFF_RANDOM_FACTOR=2": `XDS_CLIENT_BACKOFF_RANDOM_FACTOR="2": want a number from 0 to 1`,
		"GRPC_UDS_MODE=rw":                   `GRPC_UDS_MODE="rw": want rights in octal, such as 0660`,
		"GRPC_UDS_MODE=4777":                 `GRPC_UDS_MODE="4777": want rights in octal, such as 0660`,
		"GRPC_SERVER_USE_TLS=true":           `GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY: want both, for GRPC_SERVER_USE_TLS or HTTP_SERVER_USE_TLS`,
		"HTTP_SERVER_USE_TLS=true":           `GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY: want both, for GRPC_SERVER_USE_TLS or HTTP_SERVER_USE_TLS`,
		"REDIS_PERSECOND=true":               `REDIS_PERSECOND="true": the other limits want a Redis, too: set REDIS_URL or STORE`,
		"REDIS_TLS_CLIENT_CERT=/c":           `REDIS_TLS_CLIENT_CERT="/c": want REDIS_TLS_CLIENT_KEY, too`,
		"REDIS_TLS_CLIENT_KEY=/k":            `REDIS_TLS_CLIENT_KEY="/k": want REDIS_TLS_CLIENT_CERT, too`,
		"STORE=redis://user:secret@h:x":      `STORE="redis://***@h:x": host:port is wanted, with a port from 1 to 65535; want ` + wantStore,
		"STORE=redis://user:s?cret@h":        `STORE="redis://***@h": a store URL takes no parameters; write ? and # in a password as %3F and %23; want ` + wantStore,
		"REDIS_URL=redis://user:se/cret@h:1": `REDIS_URL="redis://***@h:1": host:port is wanted, with a port from 1 to 65535; want host:port, the path of a socket, or a redis:// URL`,
	} {
		_, _, err := load("envoy-rls", given)
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v, want a problem", given, err)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := load("envoy-rls", "GRPC_PORT=a", "PORT=b", "--debug-port=c")
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three lines, got %v", err)
	}
}

// C29: contradicting defaults cannot be: a setting's default is one it takes,
// and what asks for what happens anyway makes no noise.
// C28: names that are none of ours, but look like it.
// Kubernetes injects names of ours for services of that name.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{
		"LIMIT_RESPONSE_HEADERS_ENABLED=true":  {"ratelimit"},
		"LIMIT_RESPONSE_HEADERS_ENABLED=false": nil,
		"RESPONSE_HEADERS=rule,x-ratelimit":    {"rule", "x-ratelimit"},
	} {
		if s, _ := mustLoad(t, "envoy-rls", given); !slices.Equal(s.Answer.Headers, want) {
			t.Errorf("%s: %q, want %q", given, s.Answer.Headers, want)
		}
	}
	s, _ := mustLoad(t, "envoy-rls", "LIMIT_RESPONSE_HEADERS_ENABLED=1", "--response-headers=rule,ratelimit")
	if !slices.Equal(s.Answer.Headers, []string{"rule", "ratelimit"}) {
		t.Errorf("%q", s.Answer.Headers)
	}
}

func TestFlagsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ arg, text, hint string }{
		{"--grpc-prot=1", "unknown flag --grpc-prot", "did you mean --grpc-port?"},
		{"--rule=x", "unknown flag --rule", "did you mean --rules?"},
		{"--quite-other", "unknown flag --quite-other", ""},
		{"--store", "flag needs an argument: --store", ""},
	} {
		_, _, err := load("envoy-rls", tt.arg)
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Text != tt.text || usage.Hint != tt.hint {
			t.Errorf("%s: %+v", tt.arg, err)
		}
	}
	if _, _, err := Load(Input{Args: []string{"config"}}); err == nil {
		t.Error("an argument was ignored")
	}
	if _, _, err := load("envoy-rls", "--help"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	s, _ := mustLoad(t, "envoy-rls", "--shadow-mode")
	if !s.Answer.Shadow {
		t.Error("a switch without a value is off")
	}
}

// Help names every setting that does something, with its variable.
func TestHelp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := WriteHelp(&b); err != nil {
		t.Fatal(err)
	}
	help := b.String()
	for _, r := range Rows() {
		if shown := strings.Contains(help, "--"+r.Flag()) && strings.Contains(help, r.Name); shown != (r.Inert == "") {
			t.Errorf("%s in help: %v", r.Name, shown)
		}
	}
	for line := range strings.Lines(help) {
		if len([]rune(line)) > 110 {
			t.Errorf("a long line: %s", line)
		}
	}
}

// Certificates that nothing uses are told of; a name that no authority vouches for
// is refused.
func TestServerTLS(t *testing.T) {
	t.Parallel()
	serving := []string{"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=/c", "GRPC_SERVER_TLS_KEY=/k"}
	s, report := mustLoad(t, "envoy-rls", append(serving, "GRPC_CLIENT_TLS_CACERT=/ca", "GRPC_CLIENT_TLS_SAN=envoy")...)
	if want := (ServerTLS{GRPC: true, CertFile: "/c", KeyFile: "/k", ClientCAFile: "/ca", ClientSAN: "envoy"}); s.TLS != want || len(report.Warnings) > 0 {
		t.Errorf("%+v %q, want %+v", s.TLS, report.Warnings, want)
	}
	_, report = mustLoad(t, "envoy-rls", "GRPC_SERVER_TLS_CERT=/c")
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "GRPC_SERVER_USE_TLS is false") {
		t.Errorf("a certificate without TLS: %q", report.Warnings)
	}
	if _, _, err := load("envoy-rls", append(serving, "GRPC_CLIENT_TLS_SAN=envoy")...); err == nil || !strings.Contains(err.Error(), "GRPC_CLIENT_TLS_CACERT, too") {
		t.Errorf("a name without authorities: %v", err)
	}
}

// What follows a flag is its value, also if it begins with a dash.
func TestNegativeValue(t *testing.T) {
	t.Parallel()
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.Uint("hits", 1, "")
	var usage *UsageError
	if err := ParseFlags(fs, []string{"--hits", "-1"}); !errors.As(err, &usage) || usage.Text != `invalid value "-1" for flag --hits: parse error` {
		t.Errorf("%v", err)
	}
}
