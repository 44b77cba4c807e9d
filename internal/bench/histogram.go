package bench

import (
	"math/bits"
	"time"
)

const (
	subBits = 7 // 128 buckets for each power of two: an error below 0.8 %
	columns = (64 - subBits) << subBits
)

// Histogram counts durations in buckets that grow with them, as HDR histograms
// do. It is fixed memory, and not safe for concurrent use.
type Histogram struct {
	counts [columns]uint64
	n      uint64
	max    int64
}

func (h *Histogram) record(nanos int64) {
	nanos = max(nanos, 0)
	h.counts[column(nanos)]++
	h.n++
	h.max = max(h.max, nanos)
}

func column(nanos int64) int {
	shift := max(0, bits.Len64(uint64(nanos))-subBits-1)
	return shift<<subBits + int(nanos>>shift)
}

// columnEnd is the largest value of a column.
func columnEnd(c int) int64 {
	shift := max(0, c>>subBits-1)
	return int64(c-shift<<subBits+1)<<shift - 1
}

func (h *Histogram) add(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// Quantile is the duration that a share of all do not exceed; 0 if there are
// none.
func (h *Histogram) Quantile(share float64) time.Duration {
	rank := uint64(share * float64(h.n))
	seen := uint64(0)
	for c, n := range h.counts {
		if seen += n; n > 0 && (seen > rank || seen == h.n) {
			return time.Duration(min(columnEnd(c), h.max))
		}
	}
	return 0
}
