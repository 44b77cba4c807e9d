package ruletest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// observed is an answer, or a descriptor's part of it, by the names of fields.
type observed struct {
	fields      map[string]string
	descriptors []observed
}

// get is the text of a field; none for what the answer does not have.
func (o *observed) get(field string) string {
	if text, found := o.fields[field]; found && text != "" {
		return text
	}
	return none
}

// observe writes an answer down as expectations do.
func observe(x *explain.Explanation, err error, ans *rls.Answer) observed {
	o := observed{fields: map[string]string{}}
	if err != nil {
		o.fields["code"] = "unavailable"
		if failed, ok := errors.AsType[*rls.Error](err); ok && failed.Kind == rls.Invalid {
			o.fields["code"] = "invalid"
		}
		return o
	}
	o.fields["code"] = codeText(ans.Code)
	for i := range ans.Statuses {
		o.descriptors = append(o.descriptors, observeStatus(&ans.Statuses[i], &x.Descriptors[i]))
	}
	var shadows []string
	for i := range x.Descriptors {
		for j := range x.Descriptors[i].Limits {
			l := &x.Descriptors[i].Limits[j]
			if l.Speaks {
				o.speaker(l, &ans.Statuses[i])
			}
			if l.Role == "shadow" && !l.Allowed && !l.Replaced && !contains(shadows, l.Label) {
				shadows = append(shadows, l.Label)
			}
		}
	}
	o.fields["would_deny"] = strings.Join(shadows, ", ")
	o.headers("headers.", ans.ResponseHeaders)
	o.headers("request_headers.", ans.RequestHeaders)
	return o
}

// speaker fills in what the limit says that speaks for the call.
func (o *observed) speaker(l *explain.Limit, status *rls.Status) {
	o.fields["rule"] = l.Label
	o.fields["remaining"] = strconv.FormatUint(uint64(status.Remaining), 10)
	o.fields["reset"] = durationText(l.Reset())
	if o.fields["code"] == "over_limit" {
		o.fields["retry_after"] = durationText(time.Duration(status.ResetSeconds) * time.Second)
	}
}

func (o *observed) headers(prefix string, headers []rls.Header) {
	for _, h := range headers {
		o.fields[prefix+strings.ToLower(h.Name)] = h.Value
	}
}

// observeStatus writes the answer to one descriptor down: the limit that its
// status shows.
func observeStatus(s *rls.Status, d *explain.Descriptor) observed {
	o := observed{fields: map[string]string{"code": codeText(s.Code)}}
	if s.Limit == nil {
		return o
	}
	o.fields["rule"] = s.Limit.Label
	o.fields["remaining"] = strconv.FormatUint(uint64(s.Remaining), 10)
	for i := range d.Limits {
		if d.Limits[i].Label == s.Limit.Label && !d.Limits[i].Replaced {
			o.fields["reset"] = durationText(d.Limits[i].Reset())
		}
	}
	return o
}

func codeText(c rls.Code) string {
	if c == rls.OverLimit {
		return "over_limit"
	}
	return "ok"
}

// compare lists what is another than expected. Only the code is looked at unless
// all is asked for.
func (e *expectation) compare(got observed, all bool) []Diff {
	var diffs []Diff
	look := func(prefix string, w *want, o *observed) {
		if text := o.get(w.what); text != w.text {
			diffs = append(diffs, Diff{prefix + w.what, w.text, text, w.node})
		}
	}
	if e.code != nil {
		look("", e.code, &got)
	}
	if !all {
		return diffs
	}
	for i := range e.fields {
		look("", &e.fields[i], &got)
	}
	for i := range e.descriptors {
		of, prefix := &e.descriptors[i], fmt.Sprintf("descriptors[%d].", i)
		if i >= len(got.descriptors) {
			diffs = append(diffs, Diff{Field: strings.TrimSuffix(prefix, "."), Want: "an answer", Got: none})
			continue
		}
		if of.code != nil {
			look(prefix, of.code, &got.descriptors[i])
		}
		for j := range of.fields {
			look(prefix, &of.fields[j], &got.descriptors[i])
		}
	}
	return diffs
}

// durationText is a duration without its zero parts: 1h, not 1h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
