package redisstore

import (
	"fmt"
	"strconv"
	"strings"
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
		lost  uint64 // hits that were answered, at most
		fault func(t *testing.T) (heal func())
	}{
		// The old master goes on until a sentinel announces the new one, which took
		// a second and a half; nobody replicates what it is told then.
		{"Failover", 3000, func(t *testing.T) func() {
			old := group.Master()
			group.Failover()
			// It goes on as a master until it is told; nobody should ask it then.
			time.Sleep(time.Second)
			before := commands(t, old)
			time.Sleep(500 * time.Millisecond)
			if n := commands(t, old) - before; n > 10 {
				t.Errorf("the old master ran %d scripts a second after the failover", n)
			}
			return func() {}
		}},
		// A machine that hosts the master and a sentinel hangs.
		{"MasterAndSentinelHang", 300, func(*testing.T) func() {
			master, replica, sentinel := group.Master(), group.Replica(), group.Sentinels[0]
			master.Signal(syscall.SIGSTOP)
			sentinel.Signal(syscall.SIGSTOP)
			group.AwaitMaster(replica)
			return func() {
				master.Signal(syscall.SIGCONT)
				sentinel.Signal(syscall.SIGCONT)
			}
		}},
		{"MasterIsKilled", 300, func(*testing.T) func() {
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
			var keys [][]string // of its own: a new master may have what another test left
			for i := range 4 {
				keys = append(keys, []string{fmt.Sprintf("rls1:{%s|n=%d}:fixed_window:86400", test.name, i)})
			}
			l := startLoad(t, s, keys...)
			began := time.Now()
			heal := test.fault(t)
			defer heal()
			t.Logf("failover within %v", time.Since(began).Round(time.Millisecond))
			l.awaitWhole(time.Now())
			l.end()
			heal()
			master := group.Master()
			l.check(outcome{read: reader(master), servers: []*redistest.Server{master}, kinds: kinds, lostHits: test.lost})
		})
	}
}

// commands is how many scripts a server has run.
func commands(t *testing.T, server *redistest.Server) (n int) {
	t.Helper()
	stats := server.Client().MustDo(t, "INFO", "commandstats").(string)
	for line := range strings.Lines(stats) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			count, _, _ := strings.Cut(rest, ",")
			n, _ = strconv.Atoi(count)
		}
	}
	return n
}
