package playground

import (
	"reflect"
	"strings"
	"testing"
)

func byName(t *testing.T, c Config) map[string]Algorithm {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Algorithm{}
	for _, a := range r.Algorithms {
		all[a.Name] = a
		sum := 0
		for i := range a.Steps {
			sum += a.Steps[i] + a.StepsDenied[i]
		}
		if a.Problem == "" && (a.Allowed+a.Denied != r.Calls || sum != r.Calls || a.MostInWindow > a.Allowed) {
			t.Errorf("%s: %d and %d of %d calls, %d in steps, %d in a window", a.Name, a.Allowed, a.Denied, r.Calls, sum, a.MostInWindow)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d algorithms", len(all))
	}
	return all
}

// At the edge of a window fixed windows admit twice the amount, sliding ones do not.
func TestWindowEdge(t *testing.T) {
	t.Parallel()
	all := byName(t, Config{Amount: 10, WindowMillis: 10_000, DurationMillis: 60_000, Traffic: "edge", PerSecond: 20})
	for name, want := range map[string]int{"fixed_window": 20, "sliding_window_log": 10, "sliding_window_counter": 10, "token_bucket": 10, "gcra": 10} {
		if got := all[name].MostInWindow; got != want {
			t.Errorf("%s: %d in one window, want %d", name, got, want)
		}
	}
	if got := all["leaky_bucket"].MostInWindow; got > 2 {
		t.Errorf("leaky_bucket, whose burst is 1: %d in one window", got)
	}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	for name, a := range byName(t, Config{Amount: 10, WindowMillis: 10_000, DurationMillis: 100_000, Traffic: "steady", PerSecond: 1}) {
		most := 0
		if name == "sliding_window_counter" {
			most = 10 // its estimate is rounded up: one a window
		}
		if a.Denied > most {
			t.Errorf("%s: %d of 100 calls at the very rate were denied", name, a.Denied)
		}
	}
	if a := byName(t, Config{Amount: 7, WindowMillis: 10_000, RefillMillis: 1000, DurationMillis: 1000, Traffic: "own", Own: []int64{5}})["token_bucket"]; a.Problem == "" {
		t.Error("a refill of 0.7 tokens a step is possible")
	}
}

func TestSameAgain(t *testing.T) {
	t.Parallel()
	for traffic := range patterns() {
		c := Config{Amount: 5, WindowMillis: 2000, Burst: 3, DurationMillis: 10_000, Traffic: traffic, PerSecond: 9, Own: []int64{900, 3, 3, 9999}}
		if one, two := byName(t, c), byName(t, c); !reflect.DeepEqual(one, two) {
			t.Errorf("%s: %v and %v", traffic, one, two)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	good := Config{Amount: 10, WindowMillis: 1000, DurationMillis: 10_000, Traffic: "steady", PerSecond: 10}
	for want, spoil := range map[string]func(*Config){
		"amount":             func(c *Config) { c.Amount = 0 },
		"window_ms":          func(c *Config) { c.WindowMillis = 999 },
		"duration_ms":        func(c *Config) { c.DurationMillis = 1 << 60 },
		"per_second":         func(c *Config) { c.PerSecond = 1 << 60 },
		"refill_interval_ms": func(c *Config) { c.RefillMillis = -1 },
		"traffic":            func(c *Config) { c.Traffic = "storm" },
		"at most 20000":      func(c *Config) { c.PerSecond, c.DurationMillis = 1000, maxMillis },
		"own: times":         func(c *Config) { c.Traffic, c.Own = "own", []int64{-1} },
		"want at most":       func(c *Config) { c.Traffic, c.Own = "own", make([]int64, 30_000) },
	} {
		c := good
		spoil(&c)
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
