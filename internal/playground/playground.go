package playground

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
)

// Bounds of what one run may ask for.
const (
	maxCalls  = 20_000
	maxMillis = 3_600_000
	steps     = 120
)

// Config is a limit and the traffic that meets it. Times are in ms of virtual time.
type Config struct {
	Amount         uint64 `json:"amount"`
	WindowMillis   int64  `json:"window_ms"`
	Burst          uint64 `json:"burst"`              // 0: the algorithm's default
	RefillMillis   int64  `json:"refill_interval_ms"` // token_bucket only; 0: continuously
	DurationMillis int64  `json:"duration_ms"`
	Traffic        string `json:"traffic"` // steady, burst, edge, herd or own
	// PerSecond is the rate of steady traffic; of the others, how many calls come
	// at once.
	PerSecond uint64  `json:"per_second"`
	Own       []int64 `json:"own"` // times of calls
}

// Result is what came of it.
type Result struct {
	StepMillis float64     `json:"step_ms"`
	Calls      int         `json:"calls"`
	Algorithms []Algorithm `json:"algorithms"`
}

// Algorithm is what one algorithm allowed.
type Algorithm struct {
	Name    string `json:"name"`
	Problem string `json:"problem,omitempty"` // why it cannot have this limit
	Allowed int    `json:"allowed"`
	Denied  int    `json:"denied"`
	// MostInWindow is how much the worst window admitted, wherever it begins.
	MostInWindow int   `json:"most_in_window"`
	Steps        []int `json:"steps_allowed"` // by step of the time
	StepsDenied  []int `json:"steps_denied"`
}

// Run decides every call by every algorithm. An error says what is out of bounds.
func Run(c Config) (*Result, error) {
	times, err := c.times()
	if err != nil {
		return nil, err
	}
	r := &Result{StepMillis: float64(c.DurationMillis) / steps, Calls: len(times)}
	for _, a := range buckets.Algorithms() {
		r.Algorithms = append(r.Algorithms, c.run(a, times))
	}
	return r, nil
}

// begin is where virtual time starts: a multiple of any window that is likely, so
// that fixed windows begin with the run.
const begin = int64(1_800_000_000) * 1_000_000 / 86_400_000_000 * 86_400_000_000

func (c *Config) run(a buckets.Algorithm, times []int64) Algorithm {
	out := Algorithm{Name: a.String(), Steps: make([]int, steps), StepsDenied: make([]int, steps)}
	l := &buckets.Limit{Algorithm: a, Amount: c.Amount, WindowMicros: c.WindowMillis * 1000}
	if a.HasBurst() {
		l.Burst = c.Burst
	}
	if a == buckets.TokenBucket {
		l.RefillMicros = c.RefillMillis * 1000
	}
	if err := l.Prepare(); err != nil {
		out.Problem = err.Error()
		return out
	}
	var now atomic.Int64 // the store looks at it by itself, too
	now.Store(begin)
	store := memstore.New(memstore.Options{Now: now.Load, MaxBuckets: 16})
	defer store.Close()
	var allowed []int64
	for _, at := range times {
		now.Store(begin + at*1000)
		call := &buckets.Call{Items: []buckets.Item{{Key: []byte("playground"), Limit: l, Hits: 1}}}
		store.Decide(context.Background(), 0, []*buckets.Call{call})
		step := min(steps-1, int(at*steps/c.DurationMillis))
		if call.Denied || call.Err != nil {
			out.Denied++
			out.StepsDenied[step]++
			continue
		}
		out.Allowed++
		out.Steps[step]++
		allowed = append(allowed, at)
	}
	out.MostInWindow = most(allowed, c.WindowMillis)
	return out
}

// most is the largest number of times within one window, whose end is open.
func most(times []int64, window int64) int {
	worst, from := 0, 0
	for i, at := range times {
		for times[from] <= at-window {
			from++
		}
		worst = max(worst, i-from+1)
	}
	return worst
}

// times are those of the calls, in order.
func (c *Config) times() ([]int64, error) {
	switch {
	case c.Amount < 1 || c.Amount > 10_000:
		return nil, fmt.Errorf("amount: want 1 to 10000")
	case c.WindowMillis < 1000 || c.WindowMillis > maxMillis:
		return nil, fmt.Errorf("window_ms: want 1000 to %d", maxMillis)
	case c.DurationMillis < 1000 || c.DurationMillis > maxMillis:
		return nil, fmt.Errorf("duration_ms: want 1000 to %d", maxMillis)
	case c.RefillMillis < 0 || c.RefillMillis > maxMillis || c.Burst > 10_000:
		return nil, fmt.Errorf("want a burst up to 10000 and a refill_interval_ms up to %d", maxMillis)
	case c.Traffic != "own" && (c.PerSecond < 1 || c.PerSecond > 1000):
		return nil, fmt.Errorf("per_second: want 1 to 1000")
	}
	pattern, known := patterns()[c.Traffic]
	if !known {
		return nil, fmt.Errorf("traffic: want one of steady, burst, edge, herd, own")
	}
	times := pattern(c)
	if len(times) > maxCalls {
		return nil, fmt.Errorf("%d calls: want at most %d", len(times), maxCalls)
	}
	slices.Sort(times)
	if n := len(times); n > 0 && (times[0] < 0 || times[n-1] >= c.DurationMillis) {
		return nil, fmt.Errorf("own: times are from 0 to below duration_ms")
	}
	return times, nil
}
