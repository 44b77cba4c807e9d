package bench

import "time"

// tally is what was counted of calls that ended.
type tally struct {
	allowed, denied uint64
	failed          map[string]uint64 // by reason
	latency         Histogram         // from the intended time
}

func newTally() *tally { return &tally{failed: map[string]uint64{}} }

// count counts a call that ended and tells whether it was allowed.
func (t *tally) count(c *call, descriptors int) bool {
	t.latency.record(int64(time.Since(c.intended)))
	if c.status != "0" {
		t.failed["grpc-status "+c.status]++
		return false
	}
	code, statuses, err := readAnswer(c.data)
	switch {
	case err != nil:
		t.failed[err.Error()]++
	case statuses != descriptors:
		t.failed["another number of statuses than of descriptors"]++
	case code == 1:
		t.allowed++
		return true
	case code == 2:
		t.denied++
	default:
		t.failed["an overall_code that is neither OK nor OVER_LIMIT"]++
	}
	return false
}

func (t *tally) add(other *tally) {
	t.allowed += other.allowed
	t.denied += other.denied
	for reason, n := range other.failed {
		t.failed[reason] += n
	}
	t.latency.add(&other.latency)
}

// calls is how many ended.
func (t *tally) calls() uint64 { return t.latency.n }
