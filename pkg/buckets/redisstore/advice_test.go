package redisstore_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// advice opens a store and asks it once.
func advice(t *testing.T, opt redisstore.Options) []string {
	t.Helper()
	store, err := redisstore.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return store.Advice(ctx)
}

// wantAdvice compares the advice with one line that must hold a text; "" = none.
func wantAdvice(t *testing.T, opt redisstore.Options, text string) {
	t.Helper()
	got := advice(t, opt)
	if text == "" && len(got) == 0 || len(got) == 1 && text != "" && strings.Contains(got[0], text) && strings.Contains(got[0], opt.Addrs[0]) {
		return
	}
	t.Errorf("advice %q, want %q", got, text)
}

func TestAdviceOnEviction(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru")
	opt := redisstore.Options{Addrs: []string{server.Addr}}
	wantAdvice(t, opt, "maxmemory-policy allkeys-lru")
	admin := server.Client()
	for policy, text := range map[string]string{"volatile-ttl": "maxmemory-policy volatile-ttl", "noeviction": ""} {
		admin.MustDo(t, "CONFIG", "SET", "maxmemory-policy", policy)
		wantAdvice(t, opt, text)
	}
}

// A user without the right to ask, and a server that hangs, make none.
func TestAdviceIsSilent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	server.Client().MustDo(t, "ACL", "SETUSER", "limited", "on", ">secret", "~*", "+ping", "+evalsha", "+eval")
	opt := redisstore.Options{Addrs: []string{server.Addr}, Credentials: redisstore.Password("limited", "secret")}
	wantAdvice(t, opt, "")
	server.Signal(syscall.SIGSTOP)
	wantAdvice(t, opt, "")
}

func TestAdviceOnTheWrongKind(t *testing.T) {
	t.Parallel()
	plain, node := redistest.Start(t), redistest.Start(t, "--cluster-enabled", "yes")
	wantAdvice(t, redisstore.Options{Addrs: []string{node.Addr}}, "is a node of a Redis Cluster")
	wantAdvice(t, redisstore.Options{Addrs: []string{plain.Addr}, Kind: redisstore.Cluster}, "is not a node of a Redis Cluster")
	wantAdvice(t, redisstore.Options{Addrs: []string{plain.Addr}}, "")
	wantAdvice(t, redisstore.Options{Addrs: []string{node.Addr}, Kind: redisstore.Cluster}, "")
}
