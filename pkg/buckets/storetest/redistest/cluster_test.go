package redistest

import (
	"testing"
	"time"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	began := time.Now()
	c := StartCluster(t)
	t.Logf("started in %v", time.Since(began))
	if masters, replicas := c.Masters(), c.Replicas(); len(masters) != 3 || len(replicas) != 3 {
		t.Fatalf("%d masters, %d replicas", len(masters), len(replicas))
	}
	const slot = 12182 // of the key foo
	master := c.MasterOf(slot)
	if got := master.Client().MustDo(t, "SET", "foo", "bar"); got != "OK" {
		t.Errorf("SET = %v", got)
	}
	next := c.Failover(master)
	c.AwaitWhole()
	if c.MasterOf(slot) != next || next == master {
		t.Errorf("slot %d is not on the new master", slot)
	}
	if got := string(c.Get(t, "foo")); got != "bar" {
		t.Errorf("after the failover: %q", got)
	}
	next.Kill()
	c.AwaitMaster(master)
	c.AwaitWhole()
	if got := string(c.Get(t, "foo")); got != "bar" {
		t.Errorf("after the master was killed: %q", got)
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := StartSentinel(t, "pw", "sentinelpw")
	t.Logf("started in %v", time.Since(began))
	master := s.Master()
	master.Client().MustDo(t, "SET", "foo", "bar")
	next := s.Failover()
	if next == master {
		t.Error("the master stays")
	}
	s.AwaitWhole()
	if s.Master() != next || s.Replica() != master {
		t.Error("the sentinels do not name the new master")
	}
	next.Kill()
	s.AwaitMaster(master)
	if got := string(master.Client().Get(t, "foo")); got != "bar" {
		t.Errorf("GET = %q", got)
	}
}

func TestTLSAndUsers(t *testing.T) {
	t.Parallel()
	s := StartTLS(t)
	s.AddUser("limiter", "pw", "rls1:*")
	if _, err := connect(s.Addr, access{password: "pw"}); err == nil {
		t.Error("a plain client got in")
	}
	c := s.Client()
	c.MustDo(t, "AUTH", "limiter", "pw")
	c.MustDo(t, "EVAL", "return redis.call('MGET', KEYS[1])", "1", "rls1:a")
	for _, command := range [][]string{
		{"EVAL", "return redis.call('MGET', KEYS[1])", "1", "other"},
		{"CONFIG", "GET", "maxmemory"},
		{"INFO"},
		{"SCRIPT", "LOAD", "return 1"},
	} {
		if _, err := c.Do(command...); err == nil {
			t.Errorf("%v is allowed", command)
		}
	}
}
