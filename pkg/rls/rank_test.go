package rls

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// ranked makes a pick that has been decided.
func ranked(label string, amount uint64, role buckets.Role, v buckets.Verdict) pick {
	l := &descriptors.Limit{
		Label:  label,
		Amount: uint32(amount),
		Bucket: buckets.Limit{Algorithm: buckets.TokenBucket, Amount: amount, WindowMicros: 60_000_000},
	}
	if err := l.Bucket.Prepare(); err != nil {
		panic(err)
	}
	return pick{limit: l, bucket: &l.Bucket, role: role, verdict: v, denies: role == buckets.Enforced && !v.Allowed}
}

func room(remaining uint64, resetMicros int64) buckets.Verdict {
	return buckets.Verdict{Allowed: true, Remaining: remaining, ResetMicros: resetMicros}
}

func over(resetMicros int64) buckets.Verdict { return buckets.Verdict{ResetMicros: resetMicros} }

// TestRankOrder lists picks in the order in which they speak.
func TestRankOrder(t *testing.T) {
	t.Parallel()
	quotaDenying := ranked("quota that denies", 10, buckets.Quota, over(8))
	quotaDenying.denies = true
	bare := ranked("allow", 10, buckets.Enforced, room(0, 0))
	bare.bare = true
	unlimited := pick{limit: &descriptors.Limit{Label: "unlimited", Unlimited: true}, bucket: new(buckets.Limit), verdict: room(0, 0)}
	order := []pick{
		ranked("longest reset", 10, buckets.Enforced, over(9)),
		quotaDenying,
		ranked("shorter reset", 10, buckets.Enforced, over(7)),
		ranked("nothing left", 10, buckets.Enforced, room(0, 1)),
		ranked("a tenth, by name", 10, buckets.Enforced, room(1, 5)),
		ranked("a tenth, by name, later", 10, buckets.Enforced, room(1, 5)),
		ranked("a tenth, of more", 20, buckets.Enforced, room(2, 5)),
		ranked("a tenth, fresh later", 10, buckets.Enforced, room(1, 6)),
		ranked("two of ten", 10, buckets.Enforced, room(2, 1)),
		ranked("quota over", 10, buckets.Quota, over(99)),
		ranked("quota with room", 10, buckets.Quota, room(0, 1)),
		ranked("shadow over", 10, buckets.Shadow, over(99)),
		ranked("shadow", 10, buckets.Shadow, room(0, 0)),
		bare,
		unlimited,
	}
	for i := range order {
		for j := range order {
			got := order[i].compare(&order[j])
			if want := compareInt(i, j); got != want && order[i].class() < classBare {
				t.Errorf("%s against %s: %d, want %d", order[i].limit.Label, order[j].limit.Label, got, want)
			}
		}
		speaks := speaker(order[i:])
		if wants := order[i].class() < classShadow; wants != (speaks == &order[i]) || !wants && speaks != nil {
			t.Errorf("from %s on, %v speaks", order[i].limit.Label, speaks)
		}
		if first(order[i:]) != &order[i] {
			t.Errorf("from %s on, another is first", order[i].limit.Label)
		}
	}
}

func compareInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestRankIsIndependentOfOrder: whatever the order of the picks, the same kind
// of pick speaks, and no other ranks before it.
func TestRankIsIndependentOfOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		picks := rapid.SliceOfN(rapid.Custom(randomPick), 1, 8).Draw(t, "picks")
		shuffled := rapid.Permutation(picks).Draw(t, "shuffled")
		a, b := first(picks), first(shuffled)
		if shows(a) != shows(b) {
			t.Fatalf("%+v or %+v", shows(a), shows(b))
		}
		for i := range picks {
			if picks[i].compare(a) < 0 {
				t.Fatalf("%+v ranks before the first, %+v", shows(&picks[i]), shows(a))
			}
		}
		a, b = speaker(picks), speaker(shuffled)
		if (a == nil) != (b == nil) || a != nil && shows(a) != shows(b) {
			t.Fatalf("%+v or %+v speak", a, b)
		}
	})
}

func randomPick(t *rapid.T) pick {
	v := buckets.Verdict{
		Allowed:     rapid.Bool().Draw(t, "allowed"),
		ResetMicros: rapid.Int64Range(0, 3).Draw(t, "reset"),
	}
	amount := rapid.Uint64Range(1, 4).Draw(t, "amount")
	if v.Allowed {
		v.Remaining = rapid.Uint64Range(0, amount).Draw(t, "remaining")
	}
	role := rapid.SampledFrom([]buckets.Role{buckets.Enforced, buckets.Shadow, buckets.Quota}).Draw(t, "role")
	p := ranked(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label"), amount, role, v)
	p.denies = p.denies || role == buckets.Quota && !v.Allowed && rapid.Bool().Draw(t, "denies")
	p.bare = v.Allowed && rapid.IntRange(0, 5).Draw(t, "bare") == 0
	return p
}

// view is everything of a pick that an answer can show.
type view struct {
	class, amount int
	verdict       buckets.Verdict
	label         string
}

func shows(p *pick) view {
	return view{p.class(), int(p.limit.Amount), p.verdict, p.limit.Label}
}
