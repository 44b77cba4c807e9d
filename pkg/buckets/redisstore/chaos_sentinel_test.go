package redisstore

import (
	"syscall"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// What may happen to a master behind sentinels, one after the other.
func TestChaosBehindSentinels(t *testing.T) {
	group := redistest.StartSentinel(t, "", "")
	kinds := append(silent, buckets.KindReadonly, buckets.KindLoading)
	for _, test := range []struct {
		name  string
		fault func(t *testing.T) (heal func())
	}{
		{"Failover", func(*testing.T) func() {
			group.Failover()
			return func() {}
		}},
		// A machine that hosts the master and a sentinel hangs.
		{"MasterAndSentinelHang", func(*testing.T) func() {
			master, replica, sentinel := group.Master(), group.Replica(), group.Sentinels[0]
			master.Signal(syscall.SIGSTOP)
			sentinel.Signal(syscall.SIGSTOP)
			group.AwaitMaster(replica)
			return func() {
				master.Signal(syscall.SIGCONT)
				sentinel.Signal(syscall.SIGCONT)
			}
		}},
		{"MasterIsKilled", func(*testing.T) func() {
			master, replica := group.Master(), group.Replica()
			master.Kill()
			group.AwaitMaster(replica)
			return func() {}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			group.AwaitWhole()
			group.Master().Client().MustDo(t, "FLUSHALL")
			s := open(t, Options{Kind: Sentinel, Addrs: group.Addrs(), Master: redistest.MasterName})
			l := startLoad(t, s, loadKeys(4)...)
			began := time.Now()
			heal := test.fault(t)
			defer heal()
			t.Logf("failover within %v", time.Since(began).Round(time.Millisecond))
			l.awaitWhole(time.Now())
			l.end()
			heal()
			master := group.Master()
			// The old master takes hits that nobody replicates until it is told.
			l.check(outcome{read: reader(master), servers: []*redistest.Server{master}, kinds: kinds, lost: true})
		})
	}
}
