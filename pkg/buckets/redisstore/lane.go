package redisstore

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// maxKeysPerRun bounds a script run, and with it how long Redis serves nobody
// else. A single call with more is run alone.
const maxKeysPerRun = 64

// Waits between attempts to connect.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 250 * time.Millisecond
)

// lane owns a connection and what is on its way on it.
type lane struct {
	store  *Store
	client *redis.Client
	conn   atomic.Pointer[net.Conn]

	sentAt atomic.Int64 // start of the run under way, in ns since start; 0 = idle

	batch  []*pending
	script buckets.ScriptCalls
	keys   []string
	hashes []uint64
	slots  []int
	args   []any
}

func newLane(s *Store) *lane {
	l := &lane{store: s}
	l.client = s.opt.client(s.opt.IOTimeout, func(conn net.Conn) {
		l.conn.Store(&conn)
		s.stats.dials.Add(1)
	})
	return l
}

// run serves the queue until it is closed.
func (l *lane) run() {
	backoff := firstBackoff
	for {
		l.batch = l.store.queue.take(l.batch[:0], maxKeysPerRun)
		if len(l.batch) == 0 {
			return
		}
		if err := l.decide(); err == nil || isReply(err) {
			backoff = firstBackoff
			continue
		}
		select {
		case <-time.After(backoff/2 + rand.N(backoff)):
		case <-l.store.closing:
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// abort ends a run that hangs, by its connection, if it has lasted longer than
// patience.
func (l *lane) abort(patience time.Duration) {
	sentAt := l.sentAt.Load()
	if conn := l.conn.Load(); conn != nil && sentAt != 0 && l.store.since()-sentAt > int64(patience) {
		(*conn).Close()
	}
}

// decide sends the batch as one script run and hands the answers out.
func (l *lane) decide() error {
	s := l.store
	l.pack()
	begin := s.since()
	l.sentAt.Store(begin)
	reply, err := l.eval()
	l.sentAt.Store(0)
	if err == nil {
		err = l.deliver(reply)
	}
	var failed *buckets.StoreError
	kind := ""
	if err != nil {
		failed = storeError(err)
		kind = string(failed.Kind)
	}
	if s.opt.Observe != nil {
		s.opt.Observe(time.Duration(s.since()-begin), len(l.batch), kind)
	}
	if err == nil || isReply(err) {
		s.recovered()
	} else {
		s.failed(failed)
	}
	if failed != nil {
		for _, p := range l.batch {
			p.answer(failed)
		}
	}
	clear(l.batch)
	return err
}

// pack joins the calls of the batch; a bucket that several of them have is
// named once.
func (l *lane) pack() {
	l.script.Reset()
	l.keys, l.hashes = l.keys[:0], l.hashes[:0]
	for _, p := range l.batch {
		l.slots = l.slots[:0]
		for _, key := range p.keys {
			l.slots = append(l.slots, l.slot(key))
		}
		l.script.Add(p.call.Items, l.slots)
	}
	l.args = append(l.args[:0], "evalsha", l.store.sha, len(l.keys))
	for i := range l.keys {
		l.args = append(l.args, &l.keys[i])
	}
	l.args = append(l.args, l.script.Packed())
	if l.store.opt.Now != nil {
		l.args = append(l.args, l.store.opt.Now())
	}
}

func (l *lane) slot(key string) int {
	hash := maphash.String(l.store.seed, key)
	for i, known := range l.hashes {
		if known == hash && l.keys[i] == key {
			return i
		}
	}
	l.keys, l.hashes = append(l.keys, key), append(l.hashes, hash)
	return len(l.keys) - 1
}

// eval runs the script by its hash, and by its text where the node lacks it:
// then nothing ran. EVAL also loads it, and needs no right to SCRIPT LOAD.
func (l *lane) eval() (string, error) {
	ctx := context.Background()
	cmd := redis.NewCmd(ctx, l.args...)
	err := l.client.Process(ctx, cmd)
	if err != nil && isNoScript(err) {
		l.store.stats.reloads.Add(1)
		l.args[0], l.args[1] = "eval", l.store.script
		cmd = redis.NewCmd(ctx, l.args...)
		err = l.client.Process(ctx, cmd)
	}
	if err != nil {
		return "", err
	}
	return cmd.Text()
}

// deliver reads the answers. An answer that cannot be read fails the batch; by
// then no call of it has been answered.
func (l *lane) deliver(reply string) error {
	answer, err := buckets.ReadScriptAnswer(reply)
	if err != nil {
		return err
	}
	for _, p := range l.batch {
		if err := answer.Next(&p.call); err != nil {
			return err
		}
	}
	l.store.stats.foreign.Add(uint64(answer.Foreign))
	for _, p := range l.batch {
		p.answer(nil)
	}
	return nil
}
