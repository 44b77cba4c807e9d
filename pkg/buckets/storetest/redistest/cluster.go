package redistest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	slotCount   = 16384
	masterCount = 3

	// agreeTimeout is how long the nodes of a cluster, or sentinels, may take to
	// agree on something.
	agreeTimeout = 30 * time.Second
	askAgain     = 20 * time.Millisecond
)

// Cluster is a Redis Cluster of three masters, each with a third of the slots
// and a replica. Its methods fail the test rather than return an error; they are
// for one goroutine at a time.
type Cluster struct {
	// Nodes are the servers: first those that began as masters, then their
	// replicas in the same order.
	Nodes []*Server
	t     testing.TB
}

// StartCluster runs a cluster whose nodes agree when it returns. A master that
// is silent for two seconds is replaced by its replica. args are further settings
// of every node.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	args = append([]string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
		"--cluster-require-full-coverage", "no", "--cluster-announce-ip", "127.0.0.1",
	}, args...)
	c := &Cluster{t: t}
	for range 2 * masterCount {
		c.Nodes = append(c.Nodes, Start(t, args...))
	}
	for i, node := range c.Nodes {
		node.Client().MustDo(t, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
	}
	c.assign()
	c.meet()
	for i, node := range c.Nodes[masterCount:] {
		node.Client().MustDo(t, "CLUSTER", "REPLICATE", c.ID(c.Nodes[i]))
	}
	c.AwaitWhole()
	return c
}

// meet makes the nodes known to each other. A node forgets who does not answer
// its greeting in time, so that on a busy machine one may have to be repeated.
func (c *Cluster) meet() {
	c.t.Helper()
	var greeted time.Time
	c.await("know each other", func(node *Server) bool {
		if len(c.describe(node)) == len(c.Nodes) {
			return true
		}
		if time.Since(greeted) > 2*time.Second {
			greeted = time.Now()
			for _, other := range c.Nodes[1:] {
				_, _ = ask(c.Nodes[0], "CLUSTER", "MEET", "127.0.0.1", other.Port())
			}
		}
		return false
	})
}

// assign gives each master its share of the slots.
func (c *Cluster) assign() {
	for i, node := range c.Nodes[:masterCount] {
		command := []string{"CLUSTER", "ADDSLOTS"}
		for slot := i * slotCount / masterCount; slot < (i+1)*slotCount/masterCount; slot++ {
			command = append(command, strconv.Itoa(slot))
		}
		node.Client().MustDo(c.t, command...)
	}
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// ID is the name of a node in the cluster.
func (c *Cluster) ID(node *Server) string {
	c.t.Helper()
	return node.Client().MustDo(c.t, "CLUSTER", "MYID").(string)
}

// AwaitWhole waits until all running nodes agree that every slot has a master,
// there are three masters, and each replica has its master's data: one without
// could never take its place.
func (c *Cluster) AwaitWhole() {
	c.t.Helper()
	c.await("agree", func(node *Server) bool {
		info, err := ask(node, "CLUSTER", "INFO")
		if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_slots_ok:16384") {
			return false
		}
		info, err = ask(node, "INFO", "replication")
		following := err == nil && strings.Contains(info, "master_link_status:up")
		return (following || node.isMaster()) && len(c.Masters()) == masterCount
	})
}

// await waits until something is true of every node that runs.
func (c *Cluster) await(what string, is func(*Server) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(agreeTimeout); ; time.Sleep(askAgain) {
		if !slices.ContainsFunc(c.Nodes, func(node *Server) bool { return node.Running() && !is(node) }) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the nodes of the cluster do not %s within %v", what, agreeTimeout)
		}
	}
}

// ask sends one command on a connection of its own.
func ask(s *Server, command ...string) (string, error) {
	c, err := connect(s.Addr, s.access)
	if err != nil {
		return "", err
	}
	defer c.close()
	reply, err := c.Do(command...)
	text, ok := reply.(string)
	if err == nil && !ok {
		err = fmt.Errorf("answered %v", reply)
	}
	return text, err
}

// line is a line of CLUSTER NODES.
type line struct {
	id, addr string
	flags    []string
	master   string // of a replica
	slots    []string
}

func (c *Cluster) describe(node *Server) []line {
	text, err := ask(node, "CLUSTER", "NODES")
	if err != nil {
		return nil
	}
	var lines []line
	for row := range strings.Lines(text) {
		fields := strings.Fields(row)
		if len(fields) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(fields[1], "@")
		lines = append(lines, line{fields[0], addr, strings.Split(fields[2], ","), fields[3], fields[8:]})
	}
	return lines
}

// MasterOf is the master that has a slot, by its own word.
func (c *Cluster) MasterOf(slot int) *Server {
	c.t.Helper()
	for deadline := time.Now().Add(agreeTimeout); time.Now().Before(deadline); time.Sleep(askAgain) {
		for _, node := range c.Nodes {
			if node.Running() && c.has(node, slot) {
				return node
			}
		}
	}
	c.t.Fatalf("no node has slot %d", slot)
	return nil
}

func (c *Cluster) has(node *Server, slot int) bool {
	for _, l := range c.describe(node) {
		if !slices.Contains(l.flags, "myself") || !slices.Contains(l.flags, "master") {
			continue
		}
		for _, span := range l.slots {
			first, last, isSpan := strings.Cut(span, "-")
			if !isSpan {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err == nil && err2 == nil && from <= slot && slot <= to {
				return true
			}
		}
	}
	return false
}

// Masters are the running nodes that are masters by their own word.
func (c *Cluster) Masters() []*Server { return c.withRole("master") }

// Replicas are those that are replicas.
func (c *Cluster) Replicas() []*Server { return c.withRole("slave") }

func (c *Cluster) withRole(role string) []*Server {
	var nodes []*Server
	for _, node := range c.Nodes {
		if !node.Running() {
			continue
		}
		for _, l := range c.describe(node) {
			if slices.Contains(l.flags, "myself") && slices.Contains(l.flags, role) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

// ReplicaOf is a running replica of a master.
func (c *Cluster) ReplicaOf(master *Server) *Server {
	c.t.Helper()
	id := c.ID(master)
	for _, node := range c.Replicas() {
		for _, l := range c.describe(node) {
			if slices.Contains(l.flags, "myself") && l.master == id {
				return node
			}
		}
	}
	c.t.Fatalf("%s has no replica", master.Addr)
	return nil
}

// Failover has the replica of a master take its place, without loss, and
// returns the new master when it is one.
func (c *Cluster) Failover(master *Server) *Server {
	c.t.Helper()
	replica := c.ReplicaOf(master)
	// A node gives up after five seconds if the others do not vote in time.
	var asked time.Time
	for deadline := time.Now().Add(agreeTimeout); !replica.isMaster(); time.Sleep(askAgain) {
		if time.Since(asked) > 6*time.Second {
			asked = time.Now()
			replica.Client().MustDo(c.t, "CLUSTER", "FAILOVER")
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s does not take its master's place within %v", replica.Addr, agreeTimeout)
		}
	}
	return replica
}

// AwaitMaster waits until a node says that it is a master.
func (c *Cluster) AwaitMaster(node *Server) *Server {
	c.t.Helper()
	node.awaitMaster()
	return node
}

func (s *Server) awaitMaster() {
	s.t.Helper()
	for deadline := time.Now().Add(agreeTimeout); !s.isMaster(); time.Sleep(askAgain) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not become a master within %v", s.Addr, agreeTimeout)
		}
	}
}

func (s *Server) isMaster() bool {
	info, err := ask(s, "INFO", "replication")
	return err == nil && strings.Contains(info, "role:master")
}

// Get returns the value at a key, wherever it is; nil if there is none. Of a
// slot that migrates it asks all masters.
func (c *Cluster) Get(t testing.TB, key string) []byte {
	t.Helper()
	for _, node := range c.Masters() {
		reply, err := node.Client().Do("GET", key)
		if moved, ok := errors.AsType[Error](err); ok && strings.HasPrefix(string(moved), "MOVED") {
			continue
		}
		if err != nil {
			t.Fatalf("GET: %v", err)
		}
		if text, ok := reply.(string); ok {
			return []byte(text)
		}
		return nil
	}
	t.Fatal("no master has the slot of the key")
	return nil
}

// Reader returns a function as [Cluster.Get] that keeps its connections, for a
// cluster that does not change. The function is safe for concurrent use.
func (c *Cluster) Reader(t testing.TB) func(t testing.TB, key string) []byte {
	t.Helper()
	var mu sync.Mutex
	var clients []*Client
	for _, node := range c.Masters() {
		clients = append(clients, node.Client())
	}
	return func(t testing.TB, key string) []byte {
		mu.Lock()
		defer mu.Unlock()
		for _, client := range clients {
			reply, err := client.Do("GET", key)
			if err != nil {
				continue
			}
			text, ok := reply.(string)
			if !ok {
				return nil
			}
			return []byte(text)
		}
		t.Error("no master answers for the key")
		return nil
	}
}
