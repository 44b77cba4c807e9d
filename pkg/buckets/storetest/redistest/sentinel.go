package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sentinelCount = 3

// MasterName is what the sentinels of a test call the master.
const MasterName = "limits"

// Sentinels are a master, its replica, and three sentinels that watch them. Its
// methods fail the test rather than return an error; they are for one goroutine
// at a time.
type Sentinels struct {
	// Servers are the one that began as master and its replica.
	Servers []*Server
	// Sentinels are the processes that name the master.
	Sentinels []*Server
	t         testing.TB
}

// StartSentinel runs servers and sentinels that know each other when it
// returns. A master that is silent for half a second is replaced. password is
// for the servers, sentinelPassword for the sentinels; "" = none.
func StartSentinel(t testing.TB, password, sentinelPassword string) *Sentinels {
	t.Helper()
	s := &Sentinels{t: t}
	var args []string
	if password != "" {
		args = []string{"--requirepass", password, "--masterauth", password}
	}
	master := launch(t, &Server{t: t, dir: t.TempDir(), args: args, access: access{password: password}})
	follow := append(args, "--replicaof", "127.0.0.1 "+master.Port())
	replica := launch(t, &Server{t: t, dir: t.TempDir(), args: follow, access: access{password: password}})
	// Who is whose replica is now for the sentinels to say.
	replica.args = args
	s.Servers = []*Server{master, replica}
	s.await("replicate", func() bool {
		info, err := ask(replica, "INFO", "replication")
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	for range sentinelCount {
		s.Sentinels = append(s.Sentinels, s.startSentinel(master, password, sentinelPassword))
	}
	s.AwaitWhole()
	return s
}

// startSentinel runs a sentinel: a server with a file that it rewrites.
func (s *Sentinels) startSentinel(master *Server, password, own string) *Server {
	s.t.Helper()
	dir := s.t.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, "sentinel monitor %s 127.0.0.1 %s 2\n", MasterName, master.Port())
	fmt.Fprintf(&text, "sentinel down-after-milliseconds %s 500\n", MasterName)
	fmt.Fprintf(&text, "sentinel failover-timeout %s 3000\n", MasterName)
	if password != "" {
		fmt.Fprintf(&text, "sentinel auth-pass %s %s\n", MasterName, password)
	}
	if own != "" {
		fmt.Fprintf(&text, "requirepass %s\n", own)
	}
	path := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return launch(s.t, &Server{t: s.t, dir: dir, sentinelFile: path, access: access{password: own}})
}

// Addrs are the addresses of the sentinels.
func (s *Sentinels) Addrs() []string {
	var addrs []string
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr)
	}
	return addrs
}

// Master is the server that the sentinels name.
func (s *Sentinels) Master() *Server {
	s.t.Helper()
	for deadline := time.Now().Add(agreeTimeout); time.Now().Before(deadline); time.Sleep(askAgain) {
		for _, sentinel := range s.Sentinels {
			if !sentinel.Running() {
				continue
			}
			reply, err := sentinel.Client().Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
			pair, ok := reply.([]any)
			if err != nil || !ok || len(pair) != 2 {
				continue
			}
			addr := net.JoinHostPort(pair[0].(string), pair[1].(string))
			for _, server := range s.Servers {
				if server.Addr == addr {
					return server
				}
			}
		}
	}
	s.t.Fatal("no sentinel names a master")
	return nil
}

// Replica is the server that is not the master.
func (s *Sentinels) Replica() *Server {
	s.t.Helper()
	if s.Master() == s.Servers[0] {
		return s.Servers[1]
	}
	return s.Servers[0]
}

// Failover has the replica take the master's place and returns it when it has.
func (s *Sentinels) Failover() *Server {
	s.t.Helper()
	replica := s.Replica()
	s.Sentinels[0].Client().MustDo(s.t, "SENTINEL", "FAILOVER", MasterName)
	s.AwaitMaster(replica)
	return replica
}

// AwaitMaster waits until a sentinel names a server as the master: then its
// failover is over.
func (s *Sentinels) AwaitMaster(server *Server) {
	s.t.Helper()
	s.await("name the new master", func() bool {
		for _, sentinel := range s.Sentinels[1:] { // the first may hang
			if namedBy(sentinel) == server.Port() {
				return true
			}
		}
		return false
	})
}

// namedBy is the port of the master that a sentinel names; "" if it names none.
func namedBy(sentinel *Server) string {
	c, err := connect(sentinel.Addr, sentinel.access)
	if err != nil {
		return ""
	}
	defer c.close()
	reply, _ := c.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
	if named, ok := reply.([]any); ok && len(named) == 2 {
		port, _ := named[1].(string)
		return port
	}
	return ""
}

// AwaitWhole waits until the sentinels know each other and agree on a master
// that the other server follows: then they could replace it.
func (s *Sentinels) AwaitWhole() {
	s.t.Helper()
	s.await("agree", func() bool {
		roles := map[string]bool{}
		for _, server := range s.Servers {
			info, err := ask(server, "INFO", "replication")
			if err != nil || !strings.Contains(info, "role:master") && !strings.Contains(info, "master_link_status:up") {
				return false
			}
			roles[server.Port()] = strings.Contains(info, "role:master")
		}
		for _, sentinel := range s.Sentinels {
			facts := factsOf(sentinel)
			if facts["num-slaves"] != "1" || facts["num-other-sentinels"] != "2" || facts["flags"] != "master" {
				return false
			}
			port, _ := facts["port"].(string)
			if !roles[port] {
				return false
			}
		}
		return roles[s.Servers[0].Port()] != roles[s.Servers[1].Port()]
	})
}

// factsOf are what a sentinel says of the master; nil if it says nothing.
func factsOf(sentinel *Server) map[any]any {
	c, err := connect(sentinel.Addr, sentinel.access)
	if err != nil {
		return nil
	}
	defer c.close()
	reply, err := c.Do("SENTINEL", "MASTER", MasterName)
	fields, ok := reply.([]any)
	if err != nil || !ok {
		return nil
	}
	facts := map[any]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		facts[fields[i]] = fields[i+1]
	}
	return facts
}

func (s *Sentinels) await(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(agreeTimeout); !is(); time.Sleep(askAgain) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the sentinels and their servers do not %s within %v", what, agreeTimeout)
		}
	}
}
