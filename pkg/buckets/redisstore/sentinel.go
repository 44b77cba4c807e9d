package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelPatience is how long one sentinel may take to name the master.
const sentinelPatience = 500 * time.Millisecond

// sentinels name the master. They are asked in turn, whenever a connection is
// dialled. Safe for concurrent use.
type sentinels struct {
	opt   *Options
	mu    sync.Mutex
	addrs []string
}

func newSentinels(opt *Options) *sentinels {
	return &sentinels{opt: opt, addrs: append([]string(nil), opt.Addrs...)}
}

// master asks for the address of the master.
func (s *sentinels) master(ctx context.Context) (string, error) {
	s.mu.Lock()
	addrs := append([]string(nil), s.addrs...)
	s.mu.Unlock()
	var failures []error
	for _, addr := range addrs {
		master, err := s.ask(ctx, addr)
		s.askLast(addr)
		if err == nil {
			return master, nil
		}
		failures = append(failures, fmt.Errorf("sentinel %s: %w", addr, err))
		if ctx.Err() != nil {
			break // the others had no chance: keep their order
		}
	}
	return "", errors.Join(failures...)
}

func (s *sentinels) ask(ctx context.Context, addr string) (string, error) {
	opt := s.opt.clientOptions(sentinelPatience, s.opt.SentinelCredentials, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.opt.dial(ctx, addr, sentinelPatience)
	})
	opt.DB = 0
	client := redis.NewSentinelClient(opt)
	defer client.Close()
	master, err := client.GetMasterAddrByName(ctx, s.opt.Master).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "", fmt.Errorf("knows no master %q: check the master's name", s.opt.Master)
	case err != nil:
		return "", err
	case len(master) != 2:
		return "", errors.New("answered something else than an address")
	}
	return net.JoinHostPort(master[0], master[1]), nil
}

// askLast moves a sentinel to the end: next time begins with another. One that
// hangs leaves no time for a second, and after a failover they learn of the new
// master one after the other.
func (s *sentinels) askLast(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.addrs, addr); i >= 0 {
		s.addrs = append(slices.Delete(s.addrs, i, i+1), addr)
	}
}
