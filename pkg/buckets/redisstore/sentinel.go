package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// sentinelPatience is how long one sentinel may take to name the master.
	sentinelPatience = 500 * time.Millisecond
	// othersPatience is how long the others are waited for, once one has named it.
	othersPatience = 100 * time.Millisecond
	// rolePatience is how long a server may take to say that it is a master.
	rolePatience = 150 * time.Millisecond
)

// sentinels name the master. All are asked, side by side, whenever a connection
// is dialled: one may hang, and after a failover the one that led it knows the
// new master up to two seconds before the others do. Safe for concurrent use.
type sentinels struct {
	opt       *Options
	announced atomic.Pointer[string] // the newest master that one of them told of
	dialled   atomic.Pointer[string] // what master returned last
}

// named is what a sentinel said.
type named struct {
	addr string
	err  error
}

// master finds the address of the master.
func (s *sentinels) master(ctx context.Context) (string, error) {
	addr, err := s.find(ctx)
	if err == nil {
		s.dialled.Store(&addr)
	}
	return addr, err
}

// find asks for the master. Where the sentinels disagree, it is the one of those
// named that takes itself for a master; of two, the one that was announced last.
func (s *sentinels) find(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	candidates, err := s.askAll(ctx)
	if len(candidates) == 0 {
		return "", err
	}
	if len(candidates) > 1 {
		if announced := s.announced.Load(); announced != nil && slices.Contains(candidates, *announced) {
			candidates = append([]string{*announced}, candidates...)
		}
		for _, addr := range candidates {
			if s.isMaster(ctx, addr) {
				return addr, nil
			}
		}
	}
	return candidates[0], nil
}

// askAll returns the addresses that the sentinels name, the most often named
// first; if there are none, why.
func (s *sentinels) askAll(ctx context.Context) ([]string, error) {
	answers := make(chan named, len(s.opt.Addrs))
	for _, addr := range s.opt.Addrs {
		go func() {
			master, err := s.ask(ctx, addr)
			if err != nil {
				err = fmt.Errorf("sentinel %s: %w", addr, err)
			}
			answers <- named{master, err}
		}()
	}
	votes := map[string]int{}
	var failures []error
	var enough <-chan time.Time
	for range s.opt.Addrs {
		select {
		case a := <-answers:
			if a.err != nil {
				failures = append(failures, a.err)
				continue
			}
			votes[a.addr]++
			if enough == nil {
				enough = time.After(othersPatience)
			}
			continue
		case <-enough:
		case <-ctx.Done():
			failures = append(failures, ctx.Err())
		}
		break
	}
	return mostVoted(votes), errors.Join(failures...)
}

func mostVoted(votes map[string]int) []string {
	var addrs []string
	for addr := range votes {
		addrs = append(addrs, addr)
	}
	slices.SortFunc(addrs, func(a, b string) int {
		if d := votes[b] - votes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return addrs
}

func (s *sentinels) client(addr string) *redis.SentinelClient {
	opt := s.opt.clientOptions(sentinelPatience, s.opt.SentinelCredentials, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.opt.dial(ctx, addr, sentinelPatience)
	})
	opt.DB = 0
	return redis.NewSentinelClient(opt)
}

func (s *sentinels) ask(ctx context.Context, addr string) (string, error) {
	client := s.client(addr)
	defer client.Close()
	// Nobody waits for one that hangs.
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
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

// isMaster asks a server for its role. A user without the right to ask is
// answered, too: then it may be one.
func (s *sentinels) isMaster(ctx context.Context, addr string) bool {
	client := s.opt.client(rolePatience, fixed(addr), nil)
	defer client.Close()
	role, err := client.Do(ctx, "ROLE").Slice()
	if err != nil {
		return isReply(err)
	}
	return len(role) > 0 && role[0] == "master"
}
