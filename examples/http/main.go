package main

import (
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/redisstore"
	"github.com/envoy-rls/envoy-rls/pkg/limiter"
)

func main() {
	if err := serve(os.Getenv("ADDR"), os.Getenv("REDIS")); err != nil {
		log.Fatal(err)
	}
}

func serve(addr, redis string) error {
	options := limiter.Options{Limits: []limiter.Limit{
		{Key: "ip", Requests: 60, Per: time.Minute, Burst: 10, Name: "per-client"},
		{Key: "user", Requests: 1000, Per: time.Hour, Algorithm: "sliding_window_counter", Name: "per-user"},
		{Key: "all", Requests: 500, Per: time.Second, Algorithm: "gcra"},
	}}
	if redis != "" {
		options.Redis = &redisstore.Options{Addrs: []string{redis}}
	}
	l, err := limiter.Open(options)
	if err != nil {
		return err
	}
	defer l.Close()
	m := limiter.Middleware{
		Limiter: l,
		Keys: []limiter.Key{
			limiter.ClientIP("ip", netip.MustParsePrefix("10.0.0.0/8")), // our own proxies
			limiter.Header("user", "X-User"),
			limiter.Global("all"),
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	if addr == "" {
		addr = "127.0.0.1:8000"
	}
	log.Printf("listening on http://%s", addr)
	server := &http.Server{Addr: addr, Handler: m.Wrap(mux), ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
}
