package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

func verdictText(v buckets.Verdict, op buckets.Op) string {
	text := map[bool]string{true: "ok", false: "over"}[v.Allowed]
	switch {
	case v.Charged && op == buckets.Take:
		text += " charged"
	case v.Charged:
		text += " given back"
	}
	return fmt.Sprintf("%s remaining=%d reset=%v", text, v.Remaining, time.Duration(v.ResetMicros)*time.Microsecond)
}

// states prints what is kept of each bucket of a call.
func (tr *trace) states(text *strings.Builder, call *buckets.Call, names []string) {
	seen := map[string]bool{}
	for i, item := range call.Items {
		if seen[string(item.Key)] {
			continue
		}
		seen[string(item.Key)] = true
		fmt.Fprintf(text, "  %s: ", names[i])
		value := tr.Read(tr.t, item.Limit.Algorithm, item.Key)
		if value == nil {
			text.WriteString("fresh\n")
			continue
		}
		state, err := buckets.ParseState(item.Limit.Algorithm, value)
		if err != nil {
			fmt.Fprintf(text, "%v: %x\n", err, value)
			continue
		}
		text.WriteString(stateText(item.Limit, state) + "\n")
	}
}

func stateText(l *buckets.Limit, s buckets.State) string {
	switch l.Algorithm {
	case buckets.FixedWindow:
		return fmt.Sprintf("%d in the window of %s", s.Count, clockText(s.Time))
	case buckets.SlidingWindowCounter:
		return fmt.Sprintf("%d in the window of %s, %d before", s.Count, clockText(s.Time), s.Prev)
	case buckets.GCRA:
		return "as new at " + clockText(s.Time)
	case buckets.SlidingWindowLog:
		var calls []string
		for _, hit := range s.Log {
			calls = append(calls, fmt.Sprintf("%d at %s", hit.Hits, clockText(hit.Time)))
		}
		return strings.Join(calls, ", ")
	}
	text := fmt.Sprintf("%d used at %s", s.Count, clockText(s.Time))
	if s.Frac > 0 {
		text += fmt.Sprintf(", %d/%d of one back", s.Frac, l.WindowMicros)
	}
	return text
}

// clockText is a time of day on the first day of a trace, else with the date.
func clockText(micros int64) string {
	at := time.UnixMicro(micros).UTC()
	if micros >= start && micros < start+day {
		return at.Format("15:04:05.999999")
	}
	return at.Format("2006-01-02T15:04:05.999999Z")
}
