package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// refreshAtMost is the shortest time between two looks at the cluster,
	// refreshAtLeast the longest.
	refreshAtMost  = 100 * time.Millisecond
	refreshAtLeast = 30 * time.Second
	// refreshPatience is how long one node may take to describe the cluster.
	refreshPatience = 500 * time.Millisecond
	// retirePatience is how long runs may take on a node that has left.
	retirePatience = time.Second
)

// slotMap says which node has which slot.
type slotMap [slotCount]*node

// cluster is the topology of a Redis Cluster. One goroutine looks at it: when
// told that something is not as known, and now and then.
type cluster struct {
	store *Store
	slots atomic.Pointer[slotMap]
	wake  chan struct{}
	done  sync.WaitGroup

	mu     sync.Mutex
	byAddr map[string]*node
	closed bool
}

func newCluster(s *Store) *cluster {
	c := &cluster{store: s, wake: make(chan struct{}, 1), byAddr: map[string]*node{}}
	c.slots.Store(new(slotMap))
	return c
}

// start looks at the cluster from now on.
func (c *cluster) start() { c.done.Go(c.watch) }

func (c *cluster) slotted() bool { return true }

func (c *cluster) node(slot int) *node { return c.slots.Load()[slot] }

func (c *cluster) nodes() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*node, 0, len(c.byAddr))
	for _, n := range c.byAddr {
		all = append(all, n)
	}
	return all
}

func (c *cluster) at(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	n := c.byAddr[addr]
	if n == nil {
		n = newNode(c.store, addr, fixed(addr))
		n.start()
		c.byAddr[addr] = n
	}
	return n
}

func (c *cluster) moved(slot int, addr string) *node {
	n := c.at(addr)
	if n != nil && c.node(slot) != n {
		c.mu.Lock()
		next := *c.slots.Load()
		next[slot] = n
		c.slots.Store(&next)
		c.mu.Unlock()
	}
	c.suspect()
	return n
}

func (c *cluster) suspect() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// watch looks at the cluster, at once and then whenever there is cause.
func (c *cluster) watch() {
	for {
		err := c.look()
		if err != nil {
			c.store.warnings.say(c.store.opt.Logger, "cannot learn the slots of the Redis Cluster", err)
		}
		wait := refreshAtLeast
		if err != nil {
			wait = refreshAtMost
		}
		select {
		case <-c.wake:
		case <-time.After(wait):
		case <-c.store.closing:
			return
		}
		select { // a cap on the rate, and time for a failover to settle
		case <-time.After(refreshAtMost):
		case <-c.store.closing:
			return
		}
	}
}

// look learns the slots from the first node that tells.
func (c *cluster) look() error {
	var last error
	for _, addr := range c.sources() {
		slots, err := c.ask(addr)
		if err == nil {
			c.adopt(addr, slots)
			return nil
		}
		last = fmt.Errorf("node %s: %w", addr, err)
	}
	return last
}

// sources are the nodes to ask: the known ones in the order of a map, which is
// random, then those of the settings.
func (c *cluster) sources() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var addrs []string
	for addr, n := range c.byAddr {
		if !n.breaker.isOpen.Load() {
			addrs = append(addrs, addr)
		}
	}
	return append(addrs, c.store.opt.Addrs...)
}

func (c *cluster) ask(addr string) ([]redis.ClusterSlot, error) {
	client := c.store.opt.client(refreshPatience, fixed(addr), nil)
	defer client.Close()
	slots, err := client.ClusterSlots(context.Background()).Result()
	switch {
	case isReply(err) && strings.Contains(err.Error(), "cluster support disabled"):
		err = errors.New("cluster support disabled: is it a single server? then use redis:// (REDIS_TYPE=single)")
	case isReply(err):
		err = storeError(err) // a reply may repeat a password
	}
	if err == nil && len(slots) == 0 {
		err = fmt.Errorf("has no slots")
	}
	return slots, err
}

// adopt puts a description of the cluster in force. Nodes that are no longer
// masters are closed.
func (c *cluster) adopt(source string, slots []redis.ClusterSlot) {
	next, used := new(slotMap), map[*node]bool{}
	for _, span := range slots {
		if len(span.Nodes) == 0 {
			continue
		}
		n := c.at(absolute(span.Nodes[0].Addr, source))
		if n == nil {
			return
		}
		used[n] = true
		for slot := max(0, span.Start); slot <= span.End && slot < slotCount; slot++ {
			next[slot] = n
		}
	}
	c.mu.Lock()
	c.slots.Store(next)
	var gone []*node
	for addr, n := range c.byAddr {
		if !used[n] {
			delete(c.byAddr, addr)
			gone = append(gone, n)
		}
	}
	c.mu.Unlock()
	for _, n := range gone {
		c.done.Go(func() { n.close(retirePatience) })
	}
}

// absolute completes an address without a host: it is that of who told it.
func absolute(addr, source string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "" {
		return addr
	}
	host, _, _ = net.SplitHostPort(source)
	return net.JoinHostPort(host, port)
}

func (c *cluster) close() {
	c.done.Wait()
	c.mu.Lock()
	c.closed = true
	all := c.byAddr
	c.byAddr = nil
	c.mu.Unlock()
	for _, n := range all {
		n.close(0)
	}
}
