package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// WriteText writes an explanation for people.
func (x *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	if x.Note != "" {
		fmt.Fprintf(&b, "%s\n", x.Note)
	}
	for i := range x.Descriptors {
		x.Descriptors[i].write(&b, x.Domain)
	}
	switch {
	case x.Error != "":
		fmt.Fprintf(&b, "no decision: %s\n", x.Error)
	case x.Rule != "":
		fmt.Fprintf(&b, "%s, by %s\n", x.Code, x.Rule)
	default:
		fmt.Fprintf(&b, "%s\n", x.Code)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Descriptor) write(b *strings.Builder, domain string) {
	fmt.Fprintf(b, "%s: %s", domain, entriesText(d.Entries))
	switch {
	case d.Refund && d.Hits != nil:
		fmt.Fprintf(b, " (refund of %d)", *d.Hits)
	case d.Hits != nil && *d.Hits == 0:
		b.WriteString(" (a look)")
	case d.Hits != nil:
		fmt.Fprintf(b, " (cost %d)", *d.Hits)
	}
	if d.Override != "" {
		fmt.Fprintf(b, " (limit %s)", d.Override)
	}
	b.WriteByte('\n')
	width := 0
	for i := range d.Steps {
		width = max(width, 2*d.Steps[i].Depth+utf8.RuneCountInString(d.Steps[i].Rule))
	}
	for i := range d.Steps {
		d.Steps[i].write(b, width)
	}
	if d.Result != "matched" {
		sign := "✗"
		if d.Result == "whitelisted" {
			sign = "✓"
		}
		fmt.Fprintf(b, "  %s %s\n", sign, d.Reason)
		if d.Hint != "" {
			fmt.Fprintf(b, "    %s\n", d.Hint)
		}
	}
	for i := range d.Limits {
		d.Limits[i].write(b)
	}
}

func (s *Step) write(b *strings.Builder, width int) {
	sign := "✗"
	if s.Taken {
		sign = "✓"
	}
	pad := width - 2*s.Depth - utf8.RuneCountInString(s.Rule)
	fmt.Fprintf(b, "  %s%s %s%s  %s", strings.Repeat("  ", s.Depth), sign, s.Rule, strings.Repeat(" ", max(0, pad)), s.Reason)
	if s.Place != "" {
		fmt.Fprintf(b, " (%s)", s.Place)
	}
	b.WriteByte('\n')
}

func (l *Limit) write(b *strings.Builder) {
	switch {
	case l.Replaced:
		fmt.Fprintf(b, "  limit %s: replaced by another limit of this call\n", l.Label)
		return
	case l.Unlimited:
		fmt.Fprintf(b, "  limit %s: unlimited\n", l.Label)
		return
	}
	fmt.Fprintf(b, "  limit %s: %s, %s", l.Label, rateText(l.Amount, l.Unit, l.Multiplier), l.Algorithm)
	if l.Burst != uint64(l.Amount) {
		fmt.Fprintf(b, ", burst %d", l.Burst)
	}
	if l.Role != "enforced" {
		fmt.Fprintf(b, ", %s", l.Role)
	}
	fmt.Fprintf(b, " (%s)\n", l.Place)
	if l.Key != "" {
		fmt.Fprintf(b, "    bucket  %s\n", l.Key)
	}
	fmt.Fprintf(b, "    policy  on_store_error: %s, denied_hits: %s\n", l.OnStoreError, l.DeniedHits)
	fmt.Fprintf(b, "    answer  %s\n", l.answer())
}

func (l *Limit) answer() string {
	reset := shortDuration(l.Reset())
	switch {
	case l.Op == "refund":
		return fmt.Sprintf("gives %d back; remaining %d", l.Hits, l.Remaining)
	case !l.Allowed && l.Hits > l.Burst:
		return fmt.Sprintf("over the limit: a cost of %d can never pass, it holds %d", l.Hits, l.Burst)
	case !l.Allowed:
		return fmt.Sprintf("over the limit at a cost of %d: remaining %d, room in %s", l.Hits, l.Remaining, reset)
	case l.Op == "look" && l.Hits == 0:
		return fmt.Sprintf("a look that passes: remaining %d, reset in %s", l.Remaining, reset)
	case l.Op == "look":
		return fmt.Sprintf("would pass at a cost of %d, charges nothing: remaining %d before it, reset in %s", l.Hits, l.Remaining, reset)
	case !l.Charged:
		return fmt.Sprintf("has room for a cost of %d, not charged: remaining %d", l.Hits, l.Remaining)
	}
	return fmt.Sprintf("passes at a cost of %d: remaining %d, reset in %s", l.Hits, l.Remaining, reset)
}

func entriesText(entries []Entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Key + "=" + e.Value
	}
	return strings.Join(texts, ", ")
}

// shortDuration is a duration without its zero parts: 1h, not 1h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
