package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// The options say what the settings say.
func TestRedisOptions(t *testing.T) {
	t.Parallel()
	s, _, err := settings.Load(settings.Input{
		Args: []string{"--store=rediss-sentinel://u:p@a:1,b:2/main/3", "--redis-sentinel-auth=su:sp", "--redis-pool-size=7",
			"--redis-tls-cacert=/ca", "--redis-tls-client-cert=/c", "--redis-tls-client-key=/k", "--redis-tls-skip-hostname-verification", "--redis-tls-skip-verify"},
		Exists: func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	opt := redisOptions(&s.Store.Place)
	type view struct {
		Kind                     redisstore.Kind
		Addrs                    []string
		Network, Master          string
		DB, Lanes                int
		User, Password           string
		SentinelUser, SentinelPW string
		TLS                      redisstore.TLS
	}
	got := view{Kind: opt.Kind, Addrs: opt.Addrs, Network: opt.Network, Master: opt.Master, DB: opt.DB, Lanes: opt.Lanes, TLS: *opt.TLS}
	got.User, got.Password, _ = opt.Credentials()
	got.SentinelUser, got.SentinelPW, _ = opt.SentinelCredentials()
	want := view{redisstore.Sentinel, []string{"a:1", "b:2"}, "tcp", "main", 3, 7, "u", "p", "su", "sp",
		redisstore.TLS{CAFile: "/ca", CertFile: "/c", KeyFile: "/k", SkipHostname: true, SkipVerify: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The file of a password is read each time; a file that cannot be used says so
// without saying what is in it.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth")
	opt := redisOptions(&settings.Place{Target: settings.Target{Kind: settings.Redis, Username: "named"}, AuthFile: file})
	if _, _, err := opt.Credentials(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string][2]string{
		"p\n":       {"named", "p"},
		"p":         {"named", "p"},
		"u:p\r\n":   {"u", "p"},
		"u:p:q\n":   {"u", "p:q"},
		" p \n":     {"named", " p "},
		"default:p": {"default", "p"},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		user, password, err := opt.Credentials()
		if got := [2]string{user, password}; err != nil || got != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	if err := os.WriteFile(file, []byte("u:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := opt.Credentials(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty password: %v", err)
	}
}

// A password that is rotated needs no restart: the next connection reads it.
func TestRotatedPassword(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	admin := redis.Client()
	admin.MustDo(t, "CONFIG", "SET", "requirepass", "old")
	admin.MustDo(t, "AUTH", "old")
	rules, file := t.TempDir(), filepath.Join(t.TempDir(), "auth")
	writeRules(t, rules, "shop.yaml", limitTo("shop", 1000))
	writePassword := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writePassword("old\n")
	s := start(t, "--rules="+rules, "--redis-url="+redis.Addr, "--redis-auth-file="+file)
	until(t, "it is ready", s.ready)
	decides := func() bool { code, _ := s.ask("shop", "user", "ann"); return code == 200 }
	until(t, "it decides", decides)
	admin.MustDo(t, "CONFIG", "SET", "requirepass", "new")
	writePassword("new\n")
	admin.MustDo(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	until(t, "it decides with the new password", decides)
}

const perSecondRules = `
domain: shop
descriptors:
- {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
- {key: two, rate_limit: {unit: second, unit_multiplier: 2, requests_per_unit: 1000}}
- {key: day, rate_limit: {unit: day, requests_per_unit: 1000}}
`

// Limits per second live on the second Redis, and only they need it.
func TestPerSecond(t *testing.T) {
	t.Parallel()
	first, second := redistest.Start(t), redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	rules := t.TempDir()
	writeRules(t, rules, "shop.yaml", perSecondRules)
	s := start(t, "--rules="+rules, "--redis-url="+first.Addr, "--redis-persecond", "--redis-persecond-url="+second.Addr,
		"--redis-health-check-active-connection")
	until(t, "it is ready", s.ready)
	for _, key := range []string{"second", "two", "day"} {
		if code, text := s.ask("shop", key, "ann"); code != 200 {
			t.Errorf("%s: %d %s", key, code, text)
		}
	}
	// What refills a thousand a second is as new after a millisecond: the others
	// tell where buckets go by the scripts that ran.
	if keys := first.Client().MustDo(t, "KEYS", "*|day=ann*").([]any); len(keys) != 1 {
		t.Errorf("%d buckets of the day on the first Redis, want 1", len(keys))
	}
	for server, want := range map[*redistest.Server]string{first: "calls=2,", second: "calls=1,"} {
		if stats := server.Client().MustDo(t, "INFO", "commandstats").(string); !strings.Contains(stats, "cmdstat_mget:"+want) {
			t.Errorf("not as many calls came to the Redis as there are limits for it, %s:\n%s", want, stats)
		}
	}
	until(t, "the eviction policy is warned of", func() bool { return len(s.logged("maxmemory-policy allkeys-lru")) == 1 })

	second.Kill()
	until(t, "limits per second are refused", func() bool { code, _ := s.ask("shop", "second", "ann"); return code == 503 })
	if code, text := s.ask("shop", "day", "ann"); code != 200 {
		t.Errorf("a limit of the first Redis: %d %s", code, text)
	}
	until(t, "it is not ready", func() bool {
		s.ask("shop", "second", "ann") // a few in vain open the breaker
		code, text := s.get("HTTP", "/readyz")
		return code == 503 && strings.Contains(text, "limits per second")
	})
	if _, text := s.get("metrics", "/metrics"); !strings.Contains(text, `envoy_rls_store_errors_total{reason="connection",store="redis_per_second"}`) ||
		strings.Contains(text, `store_errors_total{reason="connection",store="redis"}`) {
		t.Errorf("the metrics do not tell which Redis failed:\n%s", text)
	}
	if n := len(s.logged("on_store_error of the limits did")); n != 1 {
		t.Errorf("%d lines say that policies decide, want 1", n)
	}
	second.Restart()
	until(t, "limits per second are back", func() bool { code, _ := s.ask("shop", "second", "ann"); return code == 200 })
}

// Advice is logged once: at once where a store has answered.
func TestAdviceIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := advise(ctx, func() bool { return true }, func(context.Context) []string {
		asked++
		cancel()
		return []string{"set noeviction", "set noeviction"}
	}, slog.New(slog.NewTextHandler(&text, nil)))
	if err != nil || asked != 1 || strings.Count(text.String(), "set noeviction") != 1 {
		t.Errorf("asked %d times, %v:\n%s", asked, err, &text)
	}
}

// leastRights is the line of the guide that makes a user of Redis.
func leastRights(t *testing.T) []string {
	t.Helper()
	guide, err := os.ReadFile(filepath.FromSlash("../../docs/guides/redis.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(guide)) {
		if strings.HasPrefix(line, "ACL SETUSER ") {
			return strings.Fields(line)
		}
	}
	t.Fatal("the guide has no line with ACL SETUSER")
	return nil
}

// The rights that the guide gives are enough, and each of them that every call
// needs is needed.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	admin := redis.Client()
	admin.MustDo(t, leastRights(t)...)
	rules := t.TempDir()
	writeRules(t, rules, "shop.yaml", perSecondRules)
	s := start(t, "--rules="+rules, "--store=redis://envoy-rls:PASSWORD@"+redis.Addr, "--store-timeout=1s")
	until(t, "it is ready", s.ready)
	ask := func(value string) int { code, _ := s.ask("shop", "day", value); return code }
	if code, text := s.ask("shop", "day", "ann"); code != 200 {
		t.Fatalf("with the rights of the guide: %d %s", code, text)
	}
	for _, right := range []string{"evalsha", "mget", "set", "exists", "time"} {
		admin.MustDo(t, "ACL", "SETUSER", "envoy-rls", "-"+right)
		if code := ask(right); code != 503 {
			t.Errorf("without the right to %s: %d", right, code)
		}
		admin.MustDo(t, "ACL", "SETUSER", "envoy-rls", "+"+right)
		if code := ask(right); code != 200 {
			t.Errorf("with the right to %s again: %d", right, code)
		}
	}
	admin.MustDo(t, "SCRIPT", "FLUSH")
	admin.MustDo(t, "ACL", "SETUSER", "envoy-rls", "-eval")
	if code := ask("ann"); code != 503 {
		t.Errorf("without the right to eval, and without the script: %d", code)
	}
	admin.MustDo(t, "ACL", "SETUSER", "envoy-rls", "+eval")
	if code := ask("ann"); code != 200 {
		t.Errorf("with the right to eval again: %d", code)
	}
}
