package redisstore

import (
	"errors"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// maxHops is how often a call is sent on.
const maxHops = 5

// errSplit fails a call of several buckets in a slot that migrates: a node can
// decide only those it has. The caller asks again, bucket by bucket.
var errSplit = errors.New("the slot is migrating")

// settle deals with a run that was refused or failed: it is sent on where a
// node says so, for then nothing ran; else its calls fail.
func (n *node) settle(r *run, err *buckets.StoreError) {
	if err.Kind == buckets.KindCluster && !n.store.topology.slotted() {
		n.store.warnings.say(n.store.opt.Logger, "this Redis is a cluster: use redis-cluster:// (REDIS_TYPE=cluster)", err)
	}
	word, slot, addr := redirection(r.err)
	switch {
	case word == "MOVED":
		n.sendOn(r, err, n.store.topology.moved(slot, addr), false)
	case word == "ASK":
		n.sendOn(r, err, n.store.topology.at(addr), true)
	case word == "TRYAGAIN":
		n.separate(r, err)
	default:
		switch err.Kind {
		case buckets.KindReadonly:
			n.rest()
			n.store.topology.suspect()
		case buckets.KindCluster, buckets.KindLoading:
			n.store.topology.suspect()
		}
		n.refuse(r, err)
	}
}

// rest spares a server that is read-only for as long as the breaker would: the
// client library dials anew after each such answer.
func (n *node) rest() { n.readonly.Store(n.store.since() + int64(probeEvery)) }

func (n *node) refuse(r *run, err *buckets.StoreError) {
	for _, p := range r.calls {
		p.answer(err)
	}
}

func (n *node) sendOn(r *run, err *buckets.StoreError, to *node, ask bool) {
	if to == nil {
		n.refuse(r, err)
		return
	}
	for _, p := range r.calls {
		if p.hops++; p.hops > maxHops {
			p.answer(err)
			continue
		}
		p.ask = ask
		to.send(p)
	}
}

// separate runs the calls of a migrating slot one by one; those of several
// buckets are the caller's to split.
func (n *node) separate(r *run, err *buckets.StoreError) {
	for _, p := range r.calls {
		switch {
		case p.buckets() > 1:
			p.answer(&buckets.StoreError{Kind: buckets.KindCluster, Err: errSplit})
		case p.hops >= maxHops:
			p.answer(err)
		default:
			p.hops++
			p.lone, p.ask = true, false
			n.home(p).send(p)
		}
	}
}

// home is the node that has a call's slot, as far as is known.
func (n *node) home(p *pending) *node {
	if home := n.store.topology.node(p.slot); home != nil {
		return home
	}
	return n
}

// buckets counts the distinct buckets of a call.
func (p *pending) buckets() int {
	n := 0
	for i, key := range p.keys {
		first := true
		for _, before := range p.keys[:i] {
			first = first && before != key
		}
		if first {
			n++
		}
	}
	return n
}

// redirection reads MOVED and ASK with slot and address, and TRYAGAIN.
func redirection(err error) (word string, slot int, addr string) {
	if err == nil || !isReply(err) {
		return "", 0, ""
	}
	fields := strings.Fields(err.Error())
	if len(fields) == 0 {
		return "", 0, ""
	}
	if len(fields) < 3 {
		return fields[0], 0, ""
	}
	slot, _ = strconv.Atoi(fields[1])
	return fields[0], slot % slotCount, fields[2]
}
