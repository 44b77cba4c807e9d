package redisstore

import (
	"hash/maphash"

	"github.com/redis/go-redis/v9"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// run is one run of the script: calls whose buckets may be decided together.
type run struct {
	slot int
	ask  bool
	lone bool

	calls  []*pending
	script buckets.ScriptCalls
	keys   []string
	hashes []uint64
	slots  []int // of the items of one call: which of keys
	args   []any

	cmd  *redis.Cmd
	err  error
	sent bool
}

func (r *run) reset() {
	clear(r.calls)
	clear(r.keys)
	clear(r.args)
	r.calls, r.keys, r.hashes, r.args = r.calls[:0], r.keys[:0], r.hashes[:0], r.args[:0]
	r.script.Reset()
	r.cmd, r.err, r.sent = nil, nil, false
}

// add joins a call. A bucket that several calls have is named once.
func (r *run) add(p *pending, seed maphash.Seed) {
	r.calls = append(r.calls, p)
	r.slots = r.slots[:0]
	for _, key := range p.keys {
		r.slots = append(r.slots, r.position(key, seed))
	}
	r.script.Add(p.call.Items, r.slots)
}

func (r *run) position(key string, seed maphash.Seed) int {
	hash := maphash.String(seed, key)
	for i, known := range r.hashes {
		if known == hash && r.keys[i] == key {
			return i
		}
	}
	r.keys, r.hashes = append(r.keys, key), append(r.hashes, hash)
	return len(r.keys) - 1
}

// close makes the arguments of the command.
func (r *run) close(s *Store) {
	r.args = append(r.args, "evalsha", s.sha, len(r.keys))
	for i := range r.keys {
		r.args = append(r.args, &r.keys[i])
	}
	r.args = append(r.args, r.script.Packed())
	if s.opt.Now != nil {
		r.args = append(r.args, s.opt.Now())
	}
}

// deliver hands the answers to the callers. If it fails, no call of the run has
// been answered.
func (r *run) deliver(s *Store) *buckets.StoreError {
	if r.err != nil {
		return storeError(r.err)
	}
	reply, _ := r.cmd.Val().(string)
	answer, err := buckets.ReadScriptAnswer(reply)
	if err != nil {
		return &buckets.StoreError{Kind: buckets.KindScript, Err: err}
	}
	for _, p := range r.calls {
		if err := answer.Next(&p.call); err != nil {
			return &buckets.StoreError{Kind: buckets.KindScript, Err: err}
		}
	}
	s.stats.foreign.Add(uint64(answer.Foreign))
	for _, p := range r.calls {
		p.answer(nil)
	}
	return nil
}
