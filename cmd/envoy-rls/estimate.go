package main

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// seriesPerLimit is what telemetry exports for a limit: two codes of
// decisions_total, hits_total and near_limit_total.
const seriesPerLimit = 4

// writeSeries lists how many metric series each limit exports. Limits of one
// name share theirs. Values of requests come on top, up to a cap of all
// together.
func writeSeries(w io.Writer, rules *descriptors.Ruleset) error {
	type name struct{ domain, label string }
	seen := map[name]bool{}
	sum, byValue := 0, false
	for _, l := range rules.Limits() {
		n := name{l.Rule.Domain, l.Label}
		if seen[n] {
			continue
		}
		seen[n] = true
		sum += seriesPerLimit
		more := ""
		if l.Rule.DetailedMetric || l.Rule.ValueToMetric != nil {
			more, byValue = " and 2 for each value", true
		}
		if _, err := fmt.Fprintf(w, "%7d series%s: %s\n", seriesPerLimit, more, l.Label); err != nil {
			return err
		}
	}
	if byValue {
		_, err := fmt.Fprintf(w, "%7d series in all, and at most %d for values\n", sum, 2*telemetry.MaxValues)
		return err
	}
	_, err := fmt.Fprintf(w, "%7d series in all\n", sum)
	return err
}

// What a bucket takes, rounded up from measurements; a hit in a log comes on
// top. On Redis it is key, value and their bookkeeping, with a key of 60 bytes.
const (
	memoryBucketBytes = 80
	redisBucketBytes  = 220
	memoryHitBytes    = 16
	redisHitBytes     = 12
)

// writeEstimate says what the buckets of all limits take if each open rule
// meets so many values and all buckets are in use.
func writeEstimate(w io.Writer, rules *descriptors.Ruleset, keys uint64) error {
	var count, memory, redis uint64
	for _, l := range rules.Limits() {
		if l.Unlimited || l.Amount == 0 {
			continue // no bucket
		}
		n := l.Rule.Buckets
		if n == 0 {
			n = keys
		}
		hits := uint64(0)
		if l.Bucket.Algorithm == buckets.SlidingWindowLog {
			hits = uint64(l.Amount)
		}
		count = plus(count, n, 1)
		memory = plus(memory, n, memoryBucketBytes+memoryHitBytes*hits)
		redis = plus(redis, n, redisBucketBytes+redisHitBytes*hits)
	}
	_, err := fmt.Fprintf(w, "with %d values for each rule that takes any: at most %d buckets, about %s in this process or %s on Redis\n",
		keys, count, size(memory), size(redis))
	return err
}

// plus is sum + n·each, at most what 64 bits hold.
func plus(sum, n, each uint64) uint64 {
	high, low := bits.Mul64(n, each)
	total, carry := bits.Add64(sum, low, 0)
	if high > 0 || carry > 0 {
		return 1<<64 - 1
	}
	return total
}

func size(bytes uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	scale := uint64(1)
	for len(units) > 1 && bytes/scale >= 10_000 {
		scale, units = scale*1000, units[1:]
	}
	return fmt.Sprintf("%d %s", bytes/scale, units[0])
}
