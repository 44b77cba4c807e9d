package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// moving is the hash tag of the buckets that faults aim at.
const moving = "{moving}"

// clusterKeys are calls of one bucket, of two in one slot, and of two in two.
func clusterKeys() [][]string {
	keys := loadKeys(3)
	a, b, other := "rls1:"+moving+":a", "rls1:"+moving+":b", "rls1:{other}:a"
	return append(keys, []string{a}, []string{a, b}, []string{b, other})
}

// What may happen to a cluster, one after the other.
func TestChaosOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	slot := slotOf(moving)
	for _, test := range []struct {
		name     string
		fault    func(t *testing.T)
		kinds    []buckets.ErrorKind
		lostHits uint64 // of those that were answered, at most: replication is asynchronous
	}{
		{name: "ScriptFlushOnOneNode", fault: func(t *testing.T) {
			admin := cluster.MasterOf(slot).Client()
			for range 20 {
				admin.MustDo(t, "SCRIPT", "FLUSH")
				time.Sleep(10 * time.Millisecond)
			}
		}},
		{name: "ASlotMigrates", fault: func(t *testing.T) { migrate(t, cluster, slot) }},
		{name: "Failover", kinds: append(silent, buckets.KindCluster, buckets.KindReadonly), fault: func(t *testing.T) {
			cluster.Failover(cluster.MasterOf(slot))
		}},
		{name: "ClientKill", kinds: silent, fault: func(t *testing.T) {
			for range 20 {
				for _, master := range cluster.Masters() {
					master.Client().MustDo(t, "CLIENT", "KILL", "TYPE", "normal")
				}
				time.Sleep(20 * time.Millisecond)
			}
		}},
		{name: "OneNodeIsFull", kinds: []buckets.ErrorKind{buckets.KindMemory}, fault: func(t *testing.T) {
			admin := cluster.MasterOf(slot).Client()
			admin.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
			time.Sleep(500 * time.Millisecond)
			admin.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
		}},
		// Too short for a failover.
		{name: "AMasterHangs", kinds: append(silent, buckets.KindCluster), fault: func(t *testing.T) {
			master := cluster.MasterOf(slot)
			master.Signal(syscall.SIGSTOP)
			time.Sleep(time.Second)
			master.Signal(syscall.SIGCONT)
		}},
		// Long enough for one: what hung comes back as a master, until it is told.
		{name: "AMasterHangsAndIsReplaced", kinds: append(silent, buckets.KindCluster, buckets.KindReadonly), lostHits: 300, fault: func(t *testing.T) {
			master := cluster.MasterOf(slot)
			replica := cluster.ReplicaOf(master)
			master.Signal(syscall.SIGSTOP)
			defer master.Signal(syscall.SIGCONT)
			time.Sleep(3 * time.Second)
			cluster.AwaitMaster(replica)
		}},
		{name: "AMasterIsKilled", kinds: append(silent, buckets.KindCluster, buckets.KindReadonly), lostHits: 300, fault: func(t *testing.T) {
			master := cluster.MasterOf(slot)
			replica, began := cluster.ReplicaOf(master), time.Now()
			master.Kill()
			cluster.AwaitMaster(replica)
			t.Logf("failover within %v", time.Since(began).Round(time.Millisecond))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster.AwaitWhole()
			for _, master := range cluster.Masters() {
				master.Client().MustDo(t, "FLUSHALL")
			}
			s := open(t, Options{Kind: Cluster, Addrs: cluster.Addrs()})
			l := startLoad(t, s, clusterKeys()...)
			test.fault(t)
			l.awaitWhole(time.Now())
			cluster.AwaitWhole()
			l.check(outcome{read: cluster.Reader(t), servers: cluster.Masters(), kinds: test.kinds, lostHits: test.lostHits})
		})
	}
}

// migrate moves a slot to another master, key by key, as operators do. In
// between the slot's keys are on both, so that nodes answer ASK and TRYAGAIN;
// at the end MOVED.
func migrate(t *testing.T, cluster *redistest.Cluster, slot int) {
	t.Helper()
	from := cluster.MasterOf(slot)
	masters := cluster.Masters()
	to := masters[slices.IndexFunc(masters, func(s *redistest.Server) bool { return s != from })]
	number, source, target := strconv.Itoa(slot), from.Client(), to.Client()
	target.MustDo(t, "CLUSTER", "SETSLOT", number, "IMPORTING", cluster.ID(from))
	source.MustDo(t, "CLUSTER", "SETSLOT", number, "MIGRATING", cluster.ID(to))
	time.Sleep(200 * time.Millisecond)
	moved := 0
	for {
		keys := source.MustDo(t, "CLUSTER", "GETKEYSINSLOT", number, "1").([]any)
		if len(keys) == 0 {
			break
		}
		source.MustDo(t, "MIGRATE", "127.0.0.1", to.Port(), keys[0].(string), "0", "1000")
		moved++
		time.Sleep(300 * time.Millisecond) // the rest is still here
	}
	if moved == 0 {
		t.Fatal("the slot has no keys")
	}
	target.MustDo(t, "CLUSTER", "SETSLOT", number, "NODE", cluster.ID(to))
	source.MustDo(t, "CLUSTER", "SETSLOT", number, "NODE", cluster.ID(to))
}

// A call of two fresh buckets in a slot that migrates: the source says ASK, the
// target TRYAGAIN.
func TestFreshBucketsInAMigratingSlot(t *testing.T) {
	cluster := redistest.StartCluster(t)
	slot := slotOf(moving)
	from := cluster.MasterOf(slot)
	to := cluster.MasterOf((slot + slotCount/2) % slotCount)
	to.Client().MustDo(t, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", cluster.ID(from))
	from.Client().MustDo(t, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", cluster.ID(to))
	s := open(t, Options{Kind: Cluster, Addrs: cluster.Addrs()})
	awaitAnswer(t, s)
	l := perHour(t, 3)
	decide := func(i int) *buckets.Call {
		call := new(buckets.Call)
		for _, name := range []string{"a", "b"} {
			call.Items = append(call.Items, buckets.Item{Key: fmt.Appendf(nil, "rls1:%s:%s:%d", moving, name, i), Limit: l, Hits: 1})
		}
		s.Decide(t.Context(), 5*time.Second, []*buckets.Call{call})
		return call
	}
	for i := range 5 {
		for n := range uint64(5) {
			call := decide(i)
			if call.Err != nil || call.Denied != (n >= 3) || n < 3 && call.Items[1].Verdict.Remaining != 2-n {
				t.Fatalf("call %d of buckets %d: error %v, denied %v, %+v", n, i, call.Err, call.Denied, call.Items)
			}
		}
	}
}
