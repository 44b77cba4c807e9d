package redisstore

import "sync"

// queue holds the calls that wait for a lane, oldest first.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond
	calls  []*pending
	limit  int
	closed bool
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.filled.L = &q.mu
	return q
}

// push is false if the queue is full or closed.
func (q *queue) push(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.calls) >= q.limit {
		return false
	}
	q.calls = append(q.calls, p)
	q.filled.Signal()
	return true
}

// take waits for calls and moves as many to dst as have maxKeys keys together,
// at least one. Calls whose caller has left are dropped. It returns an empty
// list once the queue is closed.
func (q *queue) take(dst []*pending, maxKeys int) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		taken, keys := 0, 0
		for _, p := range q.calls {
			if p.abandoned() {
				p.recycle()
				taken++
				continue
			}
			if keys += len(p.keys); keys > maxKeys && len(dst) > 0 {
				break
			}
			dst = append(dst, p)
			taken++
		}
		q.drop(taken)
		if len(dst) > 0 || q.closed {
			return dst
		}
		q.filled.Wait()
	}
}

// drop removes the first n calls, keeping the memory for the next.
func (q *queue) drop(n int) {
	rest := copy(q.calls, q.calls[n:])
	clear(q.calls[rest:])
	q.calls = q.calls[:rest]
}

// drain takes everything out.
func (q *queue) drain() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.calls
	q.calls = nil
	return all
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls)
}
