package storetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/model"
)

const (
	// HistorySteps is how many calls a history of [Run] has, for each algorithm.
	HistorySteps = 10_000

	stepsAWorld = 200
	seedName    = "STORETEST_SEED"

	// never is a wait of 71 years. Longer ones are all the same: near 2^52 they
	// are saturated, and by what is not part of the contract.
	never = 1 << 51
)

// RunHistories runs a history of that many random calls for each algorithm, and
// one in which calls mix them. The seed is logged, and the environment variable
// STORETEST_SEED repeats it.
func RunHistories(t *testing.T, open Factory, steps int) {
	seed := rand.Uint64()
	if text := os.Getenv(seedName); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 0, 64); err != nil {
			t.Fatalf("%s: %v", seedName, err)
		}
	}
	t.Logf("%s=%d", seedName, seed)
	each(t, func(t *testing.T, a buckets.Algorithm) {
		runHistory(t, open, seed, steps, a)
	})
	t.Run("mixed", func(t *testing.T) {
		t.Parallel()
		runHistory(t, open, seed, steps, buckets.Algorithms()...)
	})
}

// history is a random history that a store and the model live through.
type history struct {
	*bench
	*world
	model *model.Store
	steps []string // of this world, for the report of a difference
}

func runHistory(t *testing.T, open Factory, seed uint64, steps int, algorithms ...buckets.Algorithm) {
	name := fnv.New64a()
	_, _ = fmt.Fprint(name, algorithms)
	rng := rand.New(rand.NewPCG(seed, name.Sum64()))
	h := &history{bench: newBench(t, open), model: new(model.Store)}
	for step := range steps {
		if step%stepsAWorld == 0 {
			h.world, h.steps = newWorld(rng, &h.keyer, algorithms, step), nil
		}
		h.pass()
		if difference := h.step(h.list()); difference != "" {
			t.Fatalf("step %d of %s=%d: the model (-) and the store (+) differ:\n%s\nThe buckets of this world:\n%s\nIts last steps:\n%s",
				step, seedName, seed, difference, h.describe(), strings.Join(h.steps[max(0, len(h.steps)-12):], "\n"))
		}
	}
}

// list is what a step decides: a call, or several.
func (h *history) list() []*buckets.Call {
	calls := []*buckets.Call{h.call()}
	for h.InOrder && len(calls) < 6 && h.rng.IntN(3) > 0 {
		calls = append(calls, h.call())
	}
	return calls
}

// step has both decide calls and returns how they differ.
func (h *history) step(calls []*buckets.Call) (differences string) {
	h.model.NowMicros = h.nowMicros
	h.set(h.nowMicros)
	h.Store.Decide(context.Background(), budget, calls)
	for _, call := range calls {
		want := &buckets.Call{Items: append([]buckets.Item(nil), call.Items...)}
		h.model.Decide(context.Background(), budget, []*buckets.Call{want})
		h.steps = append(h.steps, h.line(want))
		h.remember(want)
		differences += cmp.Diff(answerOf(want), answerOf(call))
	}
	for _, call := range calls {
		differences += h.compareStates(call)
	}
	return differences
}

func (h *history) compareStates(call *buckets.Call) (differences string) {
	for _, item := range call.Items {
		value := h.model.Value(item.Key)
		got := h.Read(h.t, item.Limit.Algorithm, item.Key)
		if string(got) != string(value) {
			differences += fmt.Sprintf("%s:\n- %x\n+ %x\n", item.Key, value, got)
		}
	}
	return differences
}

// answer is what a store fills in.
type answer struct {
	Denied   bool
	AtMicros int64
	Err      string
	Verdicts []buckets.Verdict
}

func answerOf(call *buckets.Call) answer {
	a := answer{Denied: call.Denied, AtMicros: call.AtMicros}
	if call.Err != nil {
		a.Err = call.Err.Error()
	}
	for _, item := range call.Items {
		v := item.Verdict
		v.ResetMicros = min(v.ResetMicros, never)
		a.Verdicts = append(a.Verdicts, v)
	}
	return a
}

func (h *history) describe() string {
	var text strings.Builder
	for i, place := range h.buckets {
		for j, l := range place.limits {
			fmt.Fprintf(&text, "%d.%d %s L=%d W=%d B=%d refill=%d align=%d unbounded=%v\n",
				i, j, place.key, l.Amount, l.WindowMicros, l.Capacity(), l.RefillMicros, l.Align, l.Unbounded)
		}
	}
	return text.String()
}

// line tells a step with the answer of the model.
func (h *history) line(call *buckets.Call) string {
	var text strings.Builder
	fmt.Fprintf(&text, "now=%d denied=%v", h.nowMicros, call.Denied)
	for _, item := range call.Items {
		fmt.Fprintf(&text, "\n  %s L=%d B=%d op=%d role=%d charged=%v hits=%d at=%d bounds=%v -> %+v, then %x",
			item.Key, item.Limit.Amount, item.Limit.Capacity(), item.Op, item.Role, item.Charged, item.Hits, item.AtMicros, item.Bounds, item.Verdict, h.model.Value(item.Key))
	}
	return text.String()
}
