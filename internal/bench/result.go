package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Result is what was measured. Times of CPU are user and system.
type Result struct {
	Loop           string             `json:"loop"` // closed or open
	Descriptors    int                `json:"descriptors"`
	Seconds        float64            `json:"seconds"`
	Calls          uint64             `json:"calls"`
	CallsPerSecond float64            `json:"calls_per_second"`
	Allowed        uint64             `json:"allowed"`
	Denied         uint64             `json:"denied"`
	Failed         map[string]uint64  `json:"failed"`
	LatencyMicros  map[string]float64 `json:"latency_us"` // from the intended time of sending
	CPUMicros      map[string]float64 `json:"cpu_us_per_call"`
	MostAllowed    uint64             `json:"most_allowed_hits,omitempty"` // of one value
	BoundHits      uint64             `json:"bound_hits,omitempty"`
	Excess         []string           `json:"excess,omitempty"` // values that were allowed more
}

var quantiles = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}

func newResult(c *Config, t *tally, elapsed time.Duration, before, after map[string]time.Duration) *Result {
	r := &Result{
		Loop: "closed", Descriptors: len(c.Descriptors), Seconds: elapsed.Seconds(),
		Calls: t.calls(), CallsPerSecond: float64(t.calls()) / elapsed.Seconds(),
		Allowed: t.allowed, Denied: t.denied, Failed: t.failed,
		LatencyMicros: map[string]float64{}, CPUMicros: map[string]float64{},
	}
	if c.Rate > 0 {
		r.Loop = "open"
	}
	for _, q := range quantiles {
		r.LatencyMicros[q.name] = micros(t.latency.Quantile(q.share))
	}
	for name := range after {
		r.CPUMicros[name] = micros(after[name]-before[name]) / float64(max(1, t.calls()))
	}
	return r
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s loop  %d descriptors  %.1f s\n", r.Loop, r.Descriptors, r.Seconds)
	fmt.Fprintf(w, "calls    %d  (%.0f a second)  allowed %d  denied %d\n", r.Calls, r.CallsPerSecond, r.Allowed, r.Denied)
	for _, reason := range slices.Sorted(maps.Keys(r.Failed)) {
		fmt.Fprintf(w, "failed   %d  %s\n", r.Failed[reason], reason)
	}
	fmt.Fprint(w, "latency ")
	for _, q := range quantiles {
		fmt.Fprintf(w, " %s %.0f µs", q.name, r.LatencyMicros[q.name])
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(r.CPUMicros)) {
		fmt.Fprintf(w, "CPU      %s %.2f µs a call\n", name, r.CPUMicros[name])
	}
	if r.BoundHits > 0 {
		fmt.Fprintf(w, "exact    at most %d hits of one value allowed, bound %d\n", r.MostAllowed, r.BoundHits)
	}
	_, err := io.WriteString(w, "")
	return err
}

// WriteBench writes the result as one line of a Go benchmark, for benchstat.
func (r *Result) WriteBench(w io.Writer, name string) error {
	fmt.Fprintf(w, "Benchmark%s %d %.1f ns/op", name, max(1, r.Calls), 1e9/max(1, r.CallsPerSecond))
	for _, process := range slices.Sorted(maps.Keys(r.CPUMicros)) {
		fmt.Fprintf(w, " %.2f %s-cpu-µs/op", r.CPUMicros[process], process)
	}
	_, err := fmt.Fprintf(w, " %.1f p99-µs\n", r.LatencyMicros["p99"])
	return err
}
