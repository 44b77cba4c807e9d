package descriptors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"pgregory.net/rapid"
)

// pairOf is a rule with two limits.
func pairOf(first, second string) string {
	return "domain: d\ndescriptors:\n- key: k\n  rate_limits:\n  - {" + first + "}\n  - {" + second + "}\n"
}

func TestIdleLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second string
		idle          int // which can never deny; 0 = neither
	}{
		{"unit: second, requests_per_unit: 10, algorithm: fixed_window", "unit: minute, requests_per_unit: 1000, algorithm: fixed_window", 2},
		{"unit: second, requests_per_unit: 10, algorithm: fixed_window", "unit: minute, requests_per_unit: 600, algorithm: fixed_window", 2},
		{"unit: second, requests_per_unit: 10, algorithm: fixed_window", "unit: minute, requests_per_unit: 599, algorithm: fixed_window", 0},
		{"unit: second, requests_per_unit: 10", "unit: minute, requests_per_unit: 1000", 2},
		{"unit: second, requests_per_unit: 10", "unit: minute, requests_per_unit: 600", 2},
		{"unit: second, requests_per_unit: 10", "unit: minute, requests_per_unit: 599", 0},
		{"unit: second, requests_per_unit: 10, burst: 700", "unit: minute, requests_per_unit: 600", 1},
		{"unit: second, requests_per_unit: 10", "unit: day, requests_per_unit: 250", 0},
		{"unit: day, requests_per_unit: 250", "unit: second, requests_per_unit: 10", 0},
		{"unit: minute, requests_per_unit: 10, algorithm: fixed_window", "unit: second, requests_per_unit: 10, algorithm: fixed_window", 2},
		{"unit: second, requests_per_unit: 11, algorithm: fixed_window", "unit: minute, requests_per_unit: 10, algorithm: fixed_window", 1},
		{"unit: second, requests_per_unit: 10, algorithm: sliding_window_log", "unit: minute, requests_per_unit: 600, algorithm: sliding_window_log", 2},
		{"unit: second, requests_per_unit: 10, algorithm: sliding_window_counter", "unit: minute, requests_per_unit: 1000, algorithm: sliding_window_counter", 2},
		{"unit: second, requests_per_unit: 10", "unit: second, requests_per_unit: 10, algorithm: gcra", 2},
		{"unit: second, requests_per_unit: 3, algorithm: gcra", "unit: second, requests_per_unit: 3", 2},
		{"unit: second, requests_per_unit: 7", "unit: second, requests_per_unit: 7, algorithm: gcra", 1}, // gcra is slower by a rounding
		{"unit: second, requests_per_unit: 10", "unit: minute, requests_per_unit: 610, algorithm: fixed_window", 2},
		{"unit: second, requests_per_unit: 10", "unit: minute, requests_per_unit: 609, algorithm: fixed_window", 0},
		{"unit: second, requests_per_unit: 0", "unit: minute, requests_per_unit: 10", 0}, // it says so itself
		{"unit: second, requests_per_unit: 10, denied_hits: charged", "unit: minute, requests_per_unit: 1000", 0},
		{"unit: day, requests_per_unit: 10, algorithm: fixed_window, align: calendar", "unit: week, requests_per_unit: 1000, algorithm: fixed_window", 0},
		{"unit: second, requests_per_unit: 4294967295", "unit: year, unit_multiplier: 10, requests_per_unit: 4294967295", 1},
		{"unit: second, requests_per_unit: 4294967295, algorithm: fixed_window", "unit: year, unit_multiplier: 10, requests_per_unit: 4294967295, algorithm: fixed_window", 1},
		{"unit: second, requests_per_unit: 4, algorithm: fixed_window", "unit: year, unit_multiplier: 10, requests_per_unit: 4294967295, algorithm: fixed_window", 2},
	} {
		got := problems(pairOf(c.first, c.second))
		want := 0
		if len(got) == 1 && strings.Contains(got[0], "never be the one that denies") {
			want = int(got[0][len("a.yaml:")]-'0') - 4
		}
		if len(got) > 1 || want != c.idle || len(got) == 1 && want == 0 {
			t.Errorf("%s\n%s: idle is %d, want %d: %v", c.first, c.second, want, c.idle, got)
		}
	}
}

// TestIdleButReplaced: where a call may lose the strict limit, the other one
// counts.
func TestIdleButReplaced(t *testing.T) {
	t.Parallel()
	const text = "domain: d\ndescriptors:\n- key: k\n  rate_limits:\n  - {name: strict, unit: second, requests_per_unit: 10}\n  - {unit: minute, requests_per_unit: 1000}\n"
	wantProblems(t, problems(text), "a.yaml:6:5: warning: this limit can never")
	wantProblems(t, problems(text+"- {key: vip, rate_limit: {unlimited: true, replaces: [{name: strict}]}}\n"))
	wantProblems(t, problems(strings.Replace(text, "key: k", "key: k\n  shadow_mode: true", 1)))
	wantProblems(t, problems(strings.Replace(text, "key: k", "key: k\n  quota_mode: true", 1)))
}

// TestIdleLimitsNeverDeny plays random traffic against pairs of limits: one
// that is called idle never denies a call that the other admits.
func TestIdleLimitsNeverDeny(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		idle, strict := drawLimit(t, "idle"), drawLimit(t, "strict")
		if !coversAll(&idle, &strict) {
			return
		}
		found++
		g := duel{limits: [2]*buckets.Limit{&strict, &idle}, now: 1_767_225_600_000_000 + rapid.Int64Range(0, 60_000_000).Draw(t, "start")}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			g.now += rapid.SampledFrom([]int64{0, 1, 10_000, 99_999, 100_000, 333_333, 1_000_000, 1_999_999, 7_000_000}).Draw(t, "wait")
			hits := rapid.Uint64Range(1, 6).Draw(t, "hits")
			op := rapid.SampledFrom([]buckets.Op{buckets.Take, buckets.Take, buckets.Take, buckets.Take, buckets.Refund}).Draw(t, "op")
			if first, second := g.call(op, hits); first && !second {
				t.Fatalf("the idle limit denies %d hits", hits)
			}
		}
	})
	if found == 0 {
		t.Error("no pair was compared")
	}
}

func drawLimit(t *rapid.T, name string) buckets.Limit {
	l := buckets.Limit{
		Algorithm:    rapid.SampledFrom(buckets.Algorithms()).Draw(t, name),
		Amount:       rapid.Uint64Range(1, 30).Draw(t, name+" amount"),
		WindowMicros: 1_000_000 * rapid.Int64Range(1, 10).Draw(t, name+" window"),
	}
	if l.Algorithm.HasBurst() {
		l.Burst = rapid.Uint64Range(1, 30).Draw(t, name+" burst")
	}
	if l.Algorithm == buckets.TokenBucket && rapid.Bool().Draw(t, name+" in steps") {
		l.RefillMicros = l.WindowMicros
	}
	if l.Algorithm == buckets.FixedWindow && rapid.Bool().Draw(t, name+" from the first hit") {
		l.Align = buckets.AlignFirstHit
	}
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	return l
}

// duel is two buckets that are charged together.
type duel struct {
	limits [2]*buckets.Limit
	states [2]buckets.State
	now    int64
}

func (g *duel) call(op buckets.Op, hits uint64) (first, second bool) {
	call := &buckets.Call{}
	table := make([]buckets.Bucket, 2)
	for i, l := range g.limits {
		call.Items = append(call.Items, buckets.Item{Limit: l, Hits: l.Clamp(hits), Op: op})
		table[i].State = g.states[i]
	}
	buckets.Decide(call, table, []int{0, 1}, g.now)
	for i, b := range table {
		if b.Written {
			g.states[i] = b.State
		}
	}
	return call.Items[0].Verdict.Allowed, call.Items[1].Verdict.Allowed
}

// TestNotes: a long window on a bucket that nobody chose is noted, once a
// document, where notes are asked for.
func TestNotes(t *testing.T) {
	t.Parallel()
	rule := func(limit string) string { return fmt.Sprintf("- {key: %q, rate_limit: {%s}}\n", limit, limit) }
	hour := "unit: hour, requests_per_unit: 10"
	for text, want := range map[string]int{
		rule(hour): 1,
		rule(hour) + rule("unit: day, requests_per_unit: 10"):            1,
		rule("unit: minute, requests_per_unit: 10"):                      0,
		rule("unit: minute, unit_multiplier: 60, requests_per_unit: 10"): 1,
		rule(hour + ", algorithm: token_bucket"):                         0,
		rule(hour + ", algorithm: fixed_window"):                         0,
		rule(hour + ", burst: 2"):                                        0,
		rule("unit: hour, requests_per_unit: 0"):                         0,
	} {
		text = "domain: d\ndescriptors:\n" + text
		_, notes := Compile(yamlFiles(text), nil, Options{Notes: true})
		if _, none := Compile(yamlFiles(text), nil, Options{}); len(none) > 0 {
			t.Errorf("%s\nunasked: %v", text, none)
		}
		if _, none := Compile(yamlFiles(text), nil, Options{Notes: true, Algorithm: buckets.TokenBucket}); len(none) > 0 {
			t.Errorf("%s\nwith DEFAULT_ALGORITHM: %v", text, none)
		}
		if _, none := Compile(yamlFiles(strings.Replace(text, "d\n", "d\ndefaults: {algorithm: token_bucket}\n", 1)), nil, Options{Notes: true}); len(none) > 0 {
			t.Errorf("%s\nwith defaults: %v", text, none)
		}
		if len(notes) != want || want > 0 && (notes[0].Severity != Note || !strings.Contains(notes[0].Message, "admits up to 20")) {
			t.Errorf("%s\n%v, want %d", text, notes, want)
		}
	}
}
