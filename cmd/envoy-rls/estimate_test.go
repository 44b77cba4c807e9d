package main

import (
	"math"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/telemetry"
)

// TestSeriesPerLimit holds what check says to what a scrape has.
func TestSeriesPerLimit(t *testing.T) {
	t.Parallel()
	m := telemetry.New(telemetry.Build{})
	series := func() int {
		families, err := m.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, family := range families {
			if !strings.HasPrefix(family.GetName(), "go_") && !strings.HasPrefix(family.GetName(), "process_") {
				n += len(family.GetMetric())
			}
		}
		return n
	}
	before := series()
	l := m.Limit("shop", "login", false)
	if got := series() - before; got != seriesPerLimit {
		t.Errorf("a limit has %d series, check says %d", got, seriesPerLimit)
	}
	l.CountValue("ann", false)
	if got := series() - before - seriesPerLimit; got != 2 {
		t.Errorf("a value has %d series, check says 2", got)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0 B": size(0), "9999 B": size(9999), "10 kB": size(10_000), "80 MB": size(80_000_000), "18 EB": size(math.MaxUint64 / 1),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := plus(1, math.MaxUint64, 2); got != math.MaxUint64 {
		t.Error(got)
	}
}
