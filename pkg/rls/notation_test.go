package rls_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// parseCall reads a call of domain d such as
//
//	[user=ann,path=/x] [ip=1]{hits=0} hits=5
//
// Each [] is a descriptor with its entries. What it says for itself stands in
// {}: hits=N, refund (of its hits), limit=5/minute or limit=5/minute*10. hits=N
// is the call's own cost, domain=NAME another domain.
func parseCall(t testing.TB, line string) *rls.Request {
	t.Helper()
	req := &rls.Request{Domain: "d"}
	for _, word := range strings.Fields(line) {
		switch name, value, _ := strings.Cut(word, "="); {
		case strings.HasPrefix(word, "["):
			parseDescriptor(t, word, req.AddDescriptor())
		case name == "hits":
			req.HitsAddend = uint32(number(t, value))
		case name == "domain":
			req.Domain = value
		default:
			t.Fatalf("%s: what is %s?", line, word)
		}
	}
	return req
}

func parseDescriptor(t testing.TB, word string, to *rls.Descriptor) {
	t.Helper()
	entries, own, _ := strings.Cut(strings.TrimPrefix(word, "["), "]")
	for entry := range strings.SplitSeq(entries, ",") {
		if key, value, ok := strings.Cut(entry, "="); ok {
			to.Entries = append(to.Entries, descriptors.Entry{Key: key, Value: value})
		}
	}
	own = strings.Trim(own, "{}")
	for item := range strings.SplitSeq(own, ",") {
		switch name, value, _ := strings.Cut(item, "="); name {
		case "":
		case "hits":
			to.HasHits, to.Hits = true, number(t, value)
		case "refund":
			to.IsNegative = true
		case "limit":
			to.HasLimit, to.Limit = true, parseOverride(t, value)
		default:
			t.Fatalf("%s: what is %s?", word, item)
		}
	}
}

// parseOverride reads 5/minute*10; the unit may also be a number.
func parseOverride(t testing.TB, text string) rls.Override {
	t.Helper()
	amount, unit, _ := strings.Cut(text, "/")
	unit, times, _ := strings.Cut(unit, "*")
	o := rls.Override{RequestsPerUnit: uint32(number(t, amount))}
	if times != "" {
		o.Multiplier = uint32(number(t, times))
	}
	if u, ok := descriptors.ParseUnit(unit); ok {
		o.Unit = int32(u)
		return o
	}
	n, err := strconv.ParseInt(unit, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	o.Unit = int32(n)
	return o
}

func number(t testing.TB, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// describe writes an answer: the overall code, and after each | a descriptor's
// status with what it shows.
func describe(ans *rls.Answer) string {
	var b strings.Builder
	b.WriteString(codeName(ans.Code))
	for _, s := range ans.Statuses {
		b.WriteString(" | " + codeName(s.Code))
		if s.Limit != nil {
			fmt.Fprintf(&b, " of %d/%s", s.Limit.Amount, s.Limit.Unit)
			if s.Limit.Multiplier != 1 {
				fmt.Fprintf(&b, "*%d", s.Limit.Multiplier)
			}
			if s.Limit.WireName != "" {
				fmt.Fprintf(&b, " %q", s.Limit.WireName)
			}
		}
		if s.Limit != nil || s.HasReset || s.Remaining != 0 {
			fmt.Fprintf(&b, " left %d", s.Remaining)
		}
		if s.HasReset {
			fmt.Fprintf(&b, " reset %ds", s.ResetSeconds)
		}
	}
	for _, h := range ans.ResponseHeaders {
		fmt.Fprintf(&b, "\n  %s: %s", h.Name, h.Value)
	}
	for _, h := range ans.RequestHeaders {
		fmt.Fprintf(&b, "\n  to the application %s: %s", h.Name, h.Value)
	}
	return b.String()
}

func codeName(c rls.Code) string {
	switch c {
	case rls.OK:
		return "OK"
	case rls.OverLimit:
		return "OVER"
	}
	return fmt.Sprintf("code %d", c)
}

func describeError(err error) string {
	var failed *rls.Error
	if !errors.As(err, &failed) {
		return fmt.Sprintf("%T: %v", err, err)
	}
	kind := map[rls.ErrorKind]string{rls.Invalid: "INVALID", rls.Unavailable: "UNAVAILABLE"}[failed.Kind]
	return kind + ": " + failed.Text
}
