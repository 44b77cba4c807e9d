package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
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
	opt      *Options
	switched func()                 // is called when it is another than before
	dialled  atomic.Pointer[string] // what master returned last
	latest   atomic.Pointer[heard]  // the newest failover that one of them told of
}

// heard is what a sentinel said, and when.
type heard struct {
	named
	at time.Time
}

// believeFor is how long a sentinel is believed that the others are behind: each
// is asked more often, and all of them may be set up anew, with lower epochs.
const believeFor = 3 * askEvery

// named is what a sentinel said. Each failover has a higher epoch than those
// before it; 0 is also that of a sentinel that does not tell.
type named struct {
	addr  string
	epoch uint64
	err   error
}

// master finds the address of the master, to be dialled. If it is a new one, the
// other connections lead to one that is none any more.
func (s *sentinels) master(ctx context.Context) (string, error) {
	addr, err := s.find(ctx)
	if err != nil {
		return "", err
	}
	if before := s.dialled.Swap(&addr); before != nil && *before != addr {
		s.switched()
	}
	return addr, nil
}

// find asks for the master. Where the sentinels disagree, the newest failover
// counts, however few know of it; where that does not tell, it is the one of those
// named that takes itself for a master, the most often named first.
func (s *sentinels) find(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	candidates, err := s.askAll(ctx)
	if len(candidates) == 0 {
		return "", err
	}
	if len(candidates) > 1 {
		for _, addr := range candidates {
			if s.isMaster(ctx, addr) {
				return addr, nil
			}
		}
	}
	return candidates[0], nil
}

// askAll returns the addresses that the sentinels of the newest failover name, the
// most often named first; if there are none, why.
func (s *sentinels) askAll(ctx context.Context) ([]string, error) {
	answers := make(chan named, len(s.opt.Addrs))
	for _, addr := range s.opt.Addrs {
		go func() { answers <- s.ask(ctx, addr) }()
	}
	var told []named
	var failures []error
	var enough <-chan time.Time
	for range s.opt.Addrs {
		select {
		case a := <-answers:
			if a.err != nil {
				failures = append(failures, a.err)
				continue
			}
			told = append(told, a)
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
	return newest(s.withLatest(told)), errors.Join(failures...)
}

// withLatest adds the newest failover, if it was one that is slow that told of it.
func (s *sentinels) withLatest(told []named) []named {
	latest := s.latest.Load()
	if latest == nil || len(told) == 0 || time.Since(latest.at) >= believeFor {
		return told
	}
	if slices.ContainsFunc(told, func(n named) bool { return n.epoch >= latest.epoch }) {
		return told
	}
	return append(told, latest.named)
}

// remember keeps what a sentinel said if nobody told of a newer failover of late.
func (s *sentinels) remember(n named) {
	latest := s.latest.Load()
	if latest == nil || n.epoch >= latest.epoch || time.Since(latest.at) >= believeFor {
		s.latest.CompareAndSwap(latest, &heard{n, time.Now()})
	}
}

func newest(told []named) []string {
	epoch := uint64(0)
	for _, n := range told {
		epoch = max(epoch, n.epoch)
	}
	votes := map[string]int{}
	for _, n := range told {
		if n.epoch == epoch {
			votes[n.addr]++
		}
	}
	return slices.SortedFunc(maps.Keys(votes), func(a, b string) int {
		return cmp.Or(votes[b]-votes[a], strings.Compare(a, b))
	})
}

func (s *sentinels) client(addr string) *redis.Client {
	opt := s.opt.clientOptions(sentinelPatience, s.opt.SentinelCredentials, func(ctx context.Context) (net.Conn, error) {
		return s.opt.dial(ctx, addr, sentinelPatience)
	})
	opt.DB = 0
	return redis.NewClient(opt)
}

// ask asks one sentinel, on a connection of its own.
func (s *sentinels) ask(ctx context.Context, addr string) named {
	client := s.client(addr)
	defer client.Close()
	// Nobody waits for one that hangs.
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	n := s.askOn(ctx, client)
	if n.err != nil {
		n.err = fmt.Errorf("sentinel %s: %w", addr, n.err)
	}
	return n
}

// askOn asks for the master and for the epoch in one round trip.
func (s *sentinels) askOn(ctx context.Context, client *redis.Client) (n named) {
	pipe := client.Pipeline()
	master := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", s.opt.Master)
	facts := redis.NewMapStringStringCmd(ctx, "sentinel", "master", s.opt.Master)
	_, _ = pipe.Process(ctx, master), pipe.Process(ctx, facts) // queues; never fails
	_, _ = pipe.Exec(ctx)                                      // each command has its own error
	switch err := master.Err(); {
	case errors.Is(err, redis.Nil):
		n.err = fmt.Errorf("knows no master %q: check the master's name", s.opt.Master)
	case err != nil:
		n.err = err
	case len(master.Val()) != 2:
		n.err = errors.New("answered something else than an address")
	default:
		n.addr = net.JoinHostPort(master.Val()[0], master.Val()[1])
		// A user may lack the right to ask for facts; then votes count.
		n.epoch, _ = strconv.ParseUint(facts.Val()["config-epoch"], 10, 64)
		s.remember(n)
	}
	return n
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
