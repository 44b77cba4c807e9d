package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// RunTraces runs the golden traces of a folder: what a store answers and keeps,
// step by step, as text that people read too. The flag -rewrite writes them
// anew.
//
// A trace starts at 2026-01-01T00:00:00Z with an empty store. Its commands:
//
//	limit name=N algorithm=A amount=L per=1m [burst=B] [refill=1s] [align=first_hit] [calendar=day zone=Europe/Berlin] [unbounded]
//	    defines a limit, or changes its amount; prints why it cannot be one
//	take|look|refund|giveback limit=N [bucket=B] [hits=H] [role=shadow|quota] [charged]
//	    decides a call of one item; giveback undoes the last charged take of the bucket
//	call
//	    decides a call of several items, one a line, written as above
//	wait D
//	    lets time pass, or run back (wait -5s)
//	clock T
//	    sets the time, as 2026-03-29T00:59:00Z
//
// An answer tells what was asked, the verdict, and then what is kept.
func RunTraces(t *testing.T, dir string, open Factory) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		trace := &trace{bench: newBench(t, open), limits: map[string]*buckets.Limit{}, charges: map[string]buckets.Item{}}
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			text, err := trace.run(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return text
		})
	})
}

type trace struct {
	*bench
	limits  map[string]*buckets.Limit
	charges map[string]buckets.Item // the last of each bucket
}

func (tr *trace) run(d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "limit":
		return tr.define(d.CmdArgs)
	case "wait", "clock":
		return tr.setClock(d)
	case "call":
		var words [][]string
		for line := range strings.Lines(d.Input) {
			words = append(words, strings.Fields(line))
		}
		return tr.call(words)
	}
	words := []string{d.Cmd}
	for _, arg := range d.CmdArgs {
		words = append(words, arg.String())
	}
	return tr.call([][]string{words})
}

func (tr *trace) setClock(d *datadriven.TestData) (string, error) {
	if len(d.CmdArgs) != 1 {
		return "", fmt.Errorf("%s wants one argument", d.Cmd)
	}
	text := d.CmdArgs[0].String()
	if d.Cmd == "wait" {
		length, err := time.ParseDuration(text)
		if err != nil {
			return "", err
		}
		tr.wait(length.Microseconds())
	} else {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return "", err
		}
		tr.set(at.UnixMicro())
	}
	return clockText(tr.now) + "\n", nil
}

func (tr *trace) define(args []datadriven.CmdArg) (string, error) {
	l, name, period, zone := &buckets.Limit{}, "", "", ""
	for _, arg := range args {
		value := ""
		if len(arg.Vals) > 0 {
			value = strings.Join(arg.Vals, ",")
		}
		var err error
		switch arg.Key {
		case "name":
			name = value
		case "algorithm":
			l.Algorithm, _ = buckets.ParseAlgorithm(value)
		case "amount":
			l.Amount, err = strconv.ParseUint(value, 10, 64)
		case "burst":
			l.Burst, err = strconv.ParseUint(value, 10, 64)
		case "per":
			l.WindowMicros, err = microsOf(value)
		case "refill":
			l.RefillMicros, err = microsOf(value)
		case "align":
			l.Align = map[string]buckets.Align{"first_hit": buckets.AlignFirstHit}[value]
		case "calendar":
			period = value
		case "zone":
			zone = value
		case "unbounded":
			l.Unbounded = true
		default:
			err = errors.New("unknown argument " + arg.Key)
		}
		if err != nil {
			return "", err
		}
	}
	if period != "" {
		p, _ := buckets.ParsePeriod(period)
		l.Align = buckets.AlignCalendar
		var err error
		if l.Calendar, err = buckets.NewCalendar(p, zone); err != nil {
			return "", err
		}
	}
	if err := l.Prepare(); err != nil {
		return "error: " + err.Error() + "\n", nil
	}
	tr.limits[name] = l
	return "ok\n", nil
}

func microsOf(text string) (int64, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		return n * day, err
	}
	length, err := time.ParseDuration(text)
	return length.Microseconds(), err
}

// call decides the items, each given as its words.
func (tr *trace) call(lines [][]string) (string, error) {
	call, names := new(buckets.Call), []string{}
	for _, words := range lines {
		item, name, err := tr.parseItem(words)
		if err != nil {
			return "", fmt.Errorf("%v: %w", words, err)
		}
		call.Items, names = append(call.Items, item), append(names, name)
	}
	tr.Store.Decide(context.Background(), budget, []*buckets.Call{call})
	if call.Err != nil {
		return "", call.Err
	}
	var text strings.Builder
	if len(lines) > 1 {
		text.WriteString(map[bool]string{true: "denied\n", false: "allowed\n"}[call.Denied])
	}
	for i, item := range call.Items {
		if v := item.Verdict; item.Op == buckets.Take && v.Charged {
			tr.charges[string(item.Key)] = item
		}
		if len(lines) > 1 {
			fmt.Fprintf(&text, "%s: ", names[i])
		}
		text.WriteString(verdictText(item.Verdict, item.Op) + "\n")
	}
	tr.states(&text, call, names)
	return text.String(), nil
}

func (tr *trace) parseItem(words []string) (buckets.Item, string, error) {
	item := buckets.Item{Hits: 1}
	ops := map[string]buckets.Op{"take": buckets.Take, "look": buckets.Look, "refund": buckets.Refund, "giveback": buckets.GiveBack}
	op, ok := ops[words[0]]
	if !ok {
		return item, "", errors.New("unknown command")
	}
	item.Op = op
	limitName, bucket := "", ""
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "limit":
			limitName, item.Limit = value, tr.limits[value]
		case "bucket":
			bucket = value
		case "hits":
			item.Hits, err = strconv.ParseUint(value, 10, 64)
		case "role":
			item.Role = map[string]buckets.Role{"shadow": buckets.Shadow, "quota": buckets.Quota}[value]
		case "charged":
			item.Charged = true
		default:
			err = errors.New("unknown argument " + key)
		}
		if err != nil {
			return item, "", err
		}
	}
	if item.Limit == nil {
		return item, "", errors.New("no such limit")
	}
	if bucket == "" {
		bucket = limitName
	}
	full := tr.item(bucket, item.Limit, item.Hits)
	item.Key, item.Hits, item.Bounds = full.Key, full.Hits, full.Bounds
	if op == buckets.GiveBack {
		charge, ok := tr.charges[string(item.Key)]
		if !ok {
			return item, "", errors.New("nothing was charged")
		}
		item.Hits, item.AtMicros = charge.Hits, charge.Verdict.AtMicros
	}
	return item, bucket, nil
}
