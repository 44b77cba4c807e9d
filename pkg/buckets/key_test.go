package buckets_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

var keyer = &buckets.Keyer{HashKey: []byte("k")}

func key(t testing.TB, domain string, l *buckets.Limit, entries ...buckets.Entry) string {
	t.Helper()
	return string(keyer.Append(nil, domain, entries, nil, l))
}

func TestKeyReadable(t *testing.T) {
	t.Parallel()
	l := perMinute(t, buckets.TokenBucket, 10, 5)
	entries := []buckets.Entry{{"path", "/a b{c}"}, {"user", "jo=e|x"}, {"api_key", "secret"}, {"host", "a.example"}}
	marks := []buckets.Mark{{}, {}, {Kind: buckets.Sensitive}, {Kind: buckets.Shared, Text: "*.example"}}
	k := &buckets.Keyer{Prefix: "prod:", HashKey: []byte("k")}
	got := string(k.Append([]byte("before "), "shop", entries, marks, l))
	want := `before prod:rls1:{shop|path=/a\x20b\x7bc\x7d|user=jo\x3de\x7cx|api_key=#cc7eb5fa4bdffbf43700c5657391feff|host~*.example}:token_bucket:60`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(got, "secret") {
		t.Error("a sensitive value is in the key")
	}
}

// FAULTS K1: a value that looks like the next entry must not reach another's
// bucket. Joined with _, all of these were one.
func TestK1Injection(t *testing.T) {
	t.Parallel()
	l := perMinute(t, buckets.FixedWindow, 10, 0)
	lists := [][]buckets.Entry{
		{{"user", "a_b"}, {"path", "c"}}, {{"user", "a"}, {"b_path", "c"}}, {{"user", "a_b_path_c"}}, {{"user_a", "b_path_c"}},
		{{"user", "a|b=c"}}, {{"user", "a"}, {"b", "c"}}, {{"user", `a\x7cb\x3dc`}}, {{"user", ""}, {"", "a"}}, {{"user", ""}}, {{"", "user"}}, {{"user=", ""}}, {{"user", "="}},
		{{"user", "~a"}}, {{"user~", "a"}}, {{"user", "#" + strings.Repeat("0", 32)}}, {{"user", "a}:fixed_window:60"}},
	}
	seen := map[string]int{}
	for i, entries := range lists {
		k := key(t, "d", l, entries...)
		if j, ok := seen[k]; ok {
			t.Errorf("%q and %q share %s", lists[j], entries, k)
		}
		seen[k] = i
	}
	if key(t, "d|user=a", l) == key(t, "d", l, buckets.Entry{Key: "user", Value: "a"}) {
		t.Error("a domain can look like an entry")
	}
}

// FAULTS K4: a megabyte of value is a short key, and still its own.
func TestK4HugeValues(t *testing.T) {
	t.Parallel()
	l := perMinute(t, buckets.SlidingWindowCounter, 10, 0)
	k := &buckets.Keyer{Prefix: strings.Repeat("p", buckets.MaxPrefixBytes)}
	seen := map[string]bool{}
	for _, size := range []int{0, 100, 101, 150, 255, 256, 257, 1 << 20} {
		for _, last := range []string{"x", "y", "\xff"} {
			got := k.Append(nil, "d", []buckets.Entry{{"k", strings.Repeat("v", size) + last}}, nil, l)
			if len(got) > buckets.MaxKeyBytes || seen[string(got)] {
				t.Errorf("%d bytes of value: key of %d bytes, seen %v", size, len(got), seen[string(got)])
			}
			seen[string(got)] = true
		}
	}
}

// FAULTS K5: NUL, line ends and both ways to write é are values like others.
// K2 is the same for bytes that are not UTF-8.
func TestK5OddBytes(t *testing.T) {
	t.Parallel()
	l := perMinute(t, buckets.GCRA, 10, 10)
	seen := map[string]string{}
	for _, value := range []string{"", "\x00", "a\nb\x00c☃", "a\\nb", "é", "e\u0301", "\xe9", "\xc3", "\xc3\x28", "\x80", "\r\n", " ", "\t", "%s", "a:b"} {
		k := key(t, "d", l, buckets.Entry{Key: "k", Value: value})
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q share %s", value, other, k)
		}
		seen[k] = value
		for _, c := range []byte(k) {
			if c <= ' ' || c >= 0x7f {
				t.Errorf("%q: byte %#x in the key %q", value, c, k)
			}
		}
	}
}

// FAULTS K16, K17: the window, the algorithm and all that makes a limit another
// are in the key; the amount and the burst are not.
func TestK16K17Identity(t *testing.T) {
	t.Parallel()
	day, err := buckets.NewCalendar(buckets.Day, "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	utc, err := buckets.NewCalendar(buckets.Day, "UTC")
	if err != nil {
		t.Fatal(err)
	}
	different := []buckets.Limit{
		{Algorithm: buckets.FixedWindow, WindowMicros: minute},
		{Algorithm: buckets.FixedWindow, WindowMicros: hour},
		{Algorithm: buckets.FixedWindow, WindowMicros: minute, Align: buckets.AlignFirstHit},
		{Algorithm: buckets.FixedWindow, WindowMicros: 24 * hour},
		{Algorithm: buckets.FixedWindow, WindowMicros: 24 * hour, Align: buckets.AlignCalendar, Calendar: day},
		{Algorithm: buckets.FixedWindow, WindowMicros: 24 * hour, Align: buckets.AlignCalendar, Calendar: utc},
		{Algorithm: buckets.FixedWindow, WindowMicros: 24 * hour, Align: buckets.AlignCalendar, Calendar: utc.With("week")},
		{Algorithm: buckets.TokenBucket, WindowMicros: minute},
		{Algorithm: buckets.TokenBucket, WindowMicros: minute, RefillMicros: second},
		{Algorithm: buckets.TokenBucket, WindowMicros: minute, RefillMicros: 2 * second},
		{Algorithm: buckets.TokenBucket, WindowMicros: minute + 1},
		{Algorithm: buckets.TokenBucket, WindowMicros: minute + 10},
		{Algorithm: buckets.LeakyBucket, WindowMicros: minute},
		{Algorithm: buckets.GCRA, WindowMicros: minute},
		{Algorithm: buckets.SlidingWindowLog, WindowMicros: minute},
		{Algorithm: buckets.SlidingWindowCounter, WindowMicros: minute},
	}
	seen := map[string]int{}
	for i, l := range different {
		l.Amount = 60
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		k := key(t, "d", &l, buckets.Entry{Key: "k", Value: "v"})
		if j, ok := seen[k]; ok {
			t.Errorf("limits %d and %d share %s", i, j, k)
		}
		seen[k] = i
		more := l
		more.Amount, more.Unbounded = 120, true
		if l.Algorithm.HasBurst() {
			more.Burst = 7
		}
		if err := more.Prepare(); err != nil {
			t.Fatal(err)
		}
		if other := key(t, "d", &more, buckets.Entry{Key: "k", Value: "v"}); other != k || !l.SameIdentity(&more) {
			t.Errorf("another amount is another bucket: %s, %s", k, other)
		}
	}
}

// A shared bucket has one name, however long the value that came.
func TestSharedKeyDoesNotDependOnTheValue(t *testing.T) {
	t.Parallel()
	l := perMinute(t, buckets.TokenBucket, 10, 5)
	marks := []buckets.Mark{{Kind: buckets.Shared, Text: "/api/*"}}
	want := keyer.Append(nil, "d", []buckets.Entry{{"path", "/api/"}}, marks, l)
	for _, size := range []int{1, 200, 240, 250, 256, 300, 10_000} {
		got := keyer.Append(nil, "d", []buckets.Entry{{"path", "/api/" + strings.Repeat("x", size)}}, marks, l)
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}

// The same list of entries has one key, and no two lists share one.
func TestKeysAreInjective(t *testing.T) {
	t.Parallel()
	alphabet := []string{"_", "|", ".", ":", "{", "}", "%", "=", "~", "#", `\`, "\x00", "\n", "a", "x", "7", "c", "\xff", "é", strings.Repeat("v", 90)}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 5).Draw(t, "parts"), "")
	})
	type list struct {
		domain  string
		entries []buckets.Entry
		marks   []buckets.Mark
	}
	lists := rapid.Custom(func(t *rapid.T) list {
		l := list{domain: "d" + text.Draw(t, "domain")}
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			l.entries = append(l.entries, buckets.Entry{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")})
			l.marks = append(l.marks, buckets.Mark{Kind: buckets.MarkKind(rapid.IntRange(0, 2).Draw(t, "mark")), Text: text.Draw(t, "shared")})
		}
		return l
	})
	// identity is what must be told apart: a value only if it is in the name.
	identity := func(l list) string {
		id := fmt.Sprintf("%q", l.domain)
		for i, e := range l.entries {
			switch l.marks[i].Kind {
			case buckets.Shared:
				id += fmt.Sprintf(" %q shared %q", e.Key, l.marks[i].Text)
			default:
				id += fmt.Sprintf(" %q %d %q", e.Key, l.marks[i].Kind, e.Value)
			}
		}
		return id
	}
	limit := perMinute(t, buckets.TokenBucket, 10, 5)
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			l := lists.Draw(t, "list")
			k := string(keyer.Append(nil, l.domain, l.entries, l.marks, limit))
			if other, ok := seen[k]; ok && other != identity(l) {
				t.Fatalf("%s and %s share %s", other, identity(l), k)
			}
			seen[k] = identity(l)
			tag, rest, ok := strings.Cut(strings.TrimPrefix(k, "rls1:{"), "}")
			if len(k) > buckets.MaxKeyBytes || !ok || tag == "" || strings.ContainsAny(tag, "{}") || strings.ContainsAny(rest, "{}") {
				t.Fatalf("key %q", k)
			}
		}
	})
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	for prefix, ok := range map[string]bool{
		"": true, "prod:": true, "a|b=c": true, strings.Repeat("p", 64): true,
		strings.Repeat("p", 65): false, "{a}": false, "a b": false, "é": false, "a\n": false, "}": false,
	} {
		k := &buckets.Keyer{Prefix: prefix}
		if err := k.Check(); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
