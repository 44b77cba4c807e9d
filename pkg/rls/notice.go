package rls

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// noticeEvery is the shortest time between two lines that say that policies
// decide.
const noticeEvery = 10 * time.Second

// notice tells the log that store policies decide. The zero value is ready; it
// is safe for concurrent use.
type notice struct {
	mu    sync.Mutex
	next  time.Time
	calls uint64 // since the line before
}

// hints say what an operator can do, by why the store could not decide.
var hints = map[buckets.ErrorKind]string{
	buckets.KindTimeout:    "the store is slow, hung, or far away: look at its load and latency; STORE_TIMEOUT is how long a call waits",
	buckets.KindConnection: "is the store up, and reachable from here?",
	buckets.KindBreaker:    "the store failed five times in a row and is asked four times a second whether it is back: the lines before say why",
	buckets.KindOverload:   "more calls than the store answers: give it more power, or spread the buckets over a cluster",
	buckets.KindReadonly:   "this Redis is a replica: point the server at the master, at the sentinels, or at the cluster",
	buckets.KindMemory:     "Redis is full: raise its maxmemory",
	buckets.KindLoading:    "Redis loads its data: wait",
	buckets.KindAuth:       "Redis refuses user, password or a command: docs/guides/redis.md lists the rights that are needed",
	buckets.KindCluster:    "the slots of the cluster have no master, or this Redis is part of one: is the kind of store right, and the cluster whole?",
	buckets.KindLayout:     "a newer release wrote these buckets: bring this server to that release, too",
	buckets.KindScript:     "Redis could not run the script: is it allowed to run scripts, and what does its log say?",
}

// say logs that policies decided a call, unless that was said of late. A caller
// that left is nothing to tell.
func (n *notice) say(d *decision) {
	if d.failed.Kind == buckets.KindCanceled || d.failed.Kind == buckets.KindClosed {
		return
	}
	calls, due := n.count(d.limiter.opt.Now())
	if !due {
		return
	}
	d.limiter.opt.Logger.Warn("the store could not decide: on_store_error of the limits did",
		"reason", string(d.failed.Kind), "error", d.failed.Error(), "domain", d.domain.Name,
		"policies", d.policies(), "calls", calls, "hint", hints[d.failed.Kind])
}

// count adds a call. If a line is due, it tells how many calls it stands for.
func (n *notice) count(now time.Time) (calls uint64, due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if now.Before(n.next) {
		return 0, false
	}
	calls, n.calls, n.next = n.calls, 0, now.Add(noticeEvery)
	return calls, true
}

// policies names those that had a say in the call.
func (d *decision) policies() string {
	var names []string
	for i := range d.picks {
		p := &d.picks[i]
		if name := d.policyOf(p).String(); p.policy && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
