package rls

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// TestN10NearLimit: exact where floats were off, and never more than was
// charged.
func TestN10NearLimit(t *testing.T) {
	t.Parallel()
	const most = buckets.MaxAmount
	tests := []struct {
		amount, hits, remaining, ratio uint64
		want                           uint64
	}{
		{10, 1, 3, 800_000, 0}, // 7 used
		{10, 1, 2, 800_000, 0}, // 8 used: up to the ratio is not near
		{10, 1, 1, 800_000, 1},
		{10, 10, 0, 800_000, 2},
		{10, 1, 0, 800_000, 1},
		{10, 1, 10, 800_000, 0},
		{10, 1, 0, 1_000_000, 0},
		{1, 1, 0, 800_000, 1},
		{most, 1, most - 3_435_973_836, 800_000, 0}, // exactly 80 %, rounded down
		{most, 1, most - 3_435_973_837, 800_000, 1},
		{most, most, 0, 800_000, 858_993_459},
	}
	for _, test := range tests {
		p := ranked("l", test.amount, buckets.Enforced, buckets.Verdict{Allowed: true, Charged: true, Remaining: test.remaining})
		p.hits = test.hits
		if got := p.near(test.ratio); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
		p.verdict.Charged = false
		if got := p.near(test.ratio); got != 0 {
			t.Errorf("%+v: %d of hits that were not charged", test, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Uint64Range(1, most).Draw(t, "amount")
		hits := rapid.Uint64Range(1, amount).Draw(t, "hits")
		remaining := rapid.Uint64Range(0, 2*amount).Draw(t, "remaining")
		p := ranked("l", amount, buckets.Enforced, buckets.Verdict{Allowed: true, Charged: true, Remaining: remaining})
		p.hits = hits
		if near := p.near(rapid.Uint64Range(1, 1_000_000).Draw(t, "ratio")); near > hits || near > amount {
			t.Fatalf("%d of %d hits are near a limit of %d", near, hits, amount)
		}
	})
}

// TestSharesAreMeasuredByThemselves: what remains of a replica's share is
// compared with the share, not with the whole limit.
func TestSharesAreMeasuredByThemselves(t *testing.T) {
	t.Parallel()
	half := ranked("half of 20", 20, buckets.Enforced, buckets.Verdict{Allowed: true, Charged: true, Remaining: 2})
	half.bucket, half.hits = share(half.bucket, 2), 1
	if got := half.near(800_000); got != 0 {
		t.Errorf("8 of 10 used: %d near", got)
	}
	half.verdict.Remaining = 1
	if got := half.near(800_000); got != 1 {
		t.Errorf("9 of 10 used: %d near", got)
	}
	whole := ranked("whole", 20, buckets.Enforced, buckets.Verdict{Allowed: true, Remaining: 1})
	if half.compare(&whole) <= 0 || whole.compare(&half) >= 0 {
		t.Error("a tenth that remains ranks before a twentieth")
	}
}

func TestShareKeepsTheAlgorithmSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &buckets.Limit{
			Algorithm:    rapid.SampledFrom(buckets.Algorithms()).Draw(t, "algorithm"),
			Amount:       rapid.Uint64Range(0, 10_000).Draw(t, "amount"),
			WindowMicros: rapid.SampledFrom([]int64{1, 60, 3600, 86_400}).Draw(t, "window") * 1_000_000,
			Burst:        rapid.Uint64Range(0, 20_000).Draw(t, "burst"),
		}
		if l.Algorithm == buckets.TokenBucket && rapid.Bool().Draw(t, "steps") {
			l.RefillMicros = l.WindowMicros / rapid.Int64Range(1, 60).Draw(t, "steps a window")
		}
		if l.Prepare() != nil {
			return // no such limit
		}
		n := rapid.IntRange(1, 100).Draw(t, "replicas")
		s := share(l, n)
		parts := uint64(n)
		if s.Algorithm != l.Algorithm || s.WindowMicros != l.WindowMicros ||
			s.Amount*parts < l.Amount || s.Amount > l.Amount || (s.Amount > 0 && (s.Amount-1)*parts >= l.Amount) ||
			s.Capacity()*parts < l.Capacity() || s.Capacity() > l.Capacity() {
			t.Fatalf("share of %+v for %d: %+v", l, n, s)
		}
	})
}

func TestHeaderText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"shop/path=/login":     "shop/path=/login",
		"a b,c;d\"e'f`g\\h":    "a_b_c_d_e_f_g_h",
		"tab\tnew\r\nline\x00": "tab_new__line_",
		"é\xff\x7f":            "___",
	} {
		if got := headerText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é ☃":        "plain é ☃",
		"b\xff\xfe":        `b\xff\xfe`,
		"a\nb\x00\x7f":     `a\x0ab\x00\x7f`,
		"\xe2\x98":         `\xe2\x98`, // cut short
		"replaced \ufffd ": "replaced \ufffd ",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
