package redistest

import "testing"

// Rights that a limiter needs, as ACL rules: the commands of its script, those of
// a cluster, and those of sentinels.
var (
	rights         = []string{"+evalsha", "+eval", "+ping", "+mget", "+set", "+del", "+exists", "+time"}
	clusterRights  = []string{"+cluster|slots", "+asking"}
	sentinelRights = []string{"+sentinel|get-master-addr-by-name", "+sentinel|master", "+subscribe", "&+switch-master"}
)

// AddUser makes a user who may do what a limiter must, with keys of a pattern as
// "rls1:*", and nothing else.
func (s *Server) AddUser(name, password, keys string) {
	s.t.Helper()
	addUser(s.t, s, rights, name, password, keys)
}

// AddUser makes such a user on every node, who may also ask for the slots.
func (c *Cluster) AddUser(name, password, keys string) {
	c.t.Helper()
	for _, node := range c.Nodes {
		addUser(c.t, node, append(rights[:len(rights):len(rights)], clusterRights...), name, password, keys)
	}
}

// AddUser makes a user on every sentinel who may learn the master, and nothing
// else.
func (s *Sentinels) AddUser(name, password string) {
	s.t.Helper()
	for _, sentinel := range s.Sentinels {
		rules := append([]string{"ACL", "SETUSER", name, "reset", "on", ">" + password, "-@all"}, sentinelRights...)
		sentinel.Client().MustDo(s.t, rules...)
	}
}

func addUser(t testing.TB, s *Server, rights []string, name, password, keys string) {
	t.Helper()
	rules := append([]string{"ACL", "SETUSER", name, "reset", "on", ">" + password, "~" + keys, "-@all"}, rights...)
	s.Client().MustDo(t, rules...)
}
