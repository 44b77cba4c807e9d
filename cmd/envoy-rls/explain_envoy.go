package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/envoyconf"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// gatewayCall is what a gateway of an Envoy makes of a request, and what its
// calls meet.
type gatewayCall struct {
	envoyconf.Prediction
	Warnings     []string               `json:"warnings,omitempty"`
	Explanations []*explain.Explanation `json:"explanations"` // by call; nil where nothing of it is known
}

// gatewayCalls are those of all gateways of a configuration.
type gatewayCalls []gatewayCall

func (c *console) explainEnvoy(f *explainFlags, s *settings.Settings, set *descriptors.Ruleset) error {
	req, err := envoyconf.ParseRequest(f.request, f.headers, cmp.Or(f.remote, "127.0.0.1"))
	if err != nil {
		return &settings.UsageError{Text: err.Error()}
	}
	data, err := os.ReadFile(f.envoy)
	conf, problems := envoyconf.Parse(descriptors.File{Name: f.envoy, Data: data, Err: bare(err)})
	if len(problems) > 0 {
		if err := descriptors.WriteText(c.stderr, problems, 1); err != nil {
			return err
		}
		return exitError(exitFailure)
	}
	var all gatewayCalls
	failed := false
	for _, p := range conf.Predict(req) {
		g := gatewayCall{Prediction: p, Explanations: []*explain.Explanation{}}
		for i := range p.Calls {
			failed = g.explain(s, set, &p.Calls[i]) != nil || failed
		}
		if f.remote == "" {
			g.Notes = append(g.Notes, "the peer's address is taken to be 127.0.0.1: --remote-address says another")
		}
		all = append(all, g)
	}
	if err := c.printExplained(f.format, all, all); err != nil || !failed {
		return err
	}
	return exitError(exitFailure)
}

// explain explains a call, as far as it is known.
func (g *gatewayCall) explain(s *settings.Settings, set *descriptors.Ruleset, call *envoyconf.Call) error {
	req, sent := call.Request()
	if len(sent) == 0 {
		g.Explanations = append(g.Explanations, nil)
		return nil
	}
	x, err := explainOn(s, set, req)
	g.Explanations = append(g.Explanations, x)
	for i, at := range sent {
		g.warn(call, &call.Descriptors[at], &x.Descriptors[i])
	}
	return err
}

// warn finds a stated cost that is no report of usage, but charged like one when
// the call is denied.
func (g *gatewayCall) warn(call *envoyconf.Call, d *envoyconf.Descriptor, x *explain.Descriptor) {
	if call.AfterResponse || d.Refund || d.Hits == nil || *d.Hits == 0 {
		return
	}
	for i := range x.Limits {
		if l := &x.Limits[i]; l.DeniedHits == "auto" {
			g.Warnings = append(g.Warnings, fmt.Sprintf(
				"%s states a cost of %d before the response: limit %s (%s) charges it also when the call is denied; if it is no usage that has happened, give the limit denied_hits: free",
				d.Place, *d.Hits, l.Label, l.Place))
		}
	}
}

// WriteText writes all of it for people.
func (all gatewayCalls) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for i := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := all[i].write(&b); err != nil {
			return err
		}
	}
	_, err := b.WriteTo(w)
	return err
}

func (g *gatewayCall) write(b *bytes.Buffer) error {
	fmt.Fprintf(b, "listener %s", g.Listener)
	if g.VirtualHost != "" {
		fmt.Fprintf(b, ", virtual host %s", g.VirtualHost)
	}
	if g.Route != "" {
		fmt.Fprintf(b, ", route at %s", g.Route)
	}
	if g.Cluster != "" {
		fmt.Fprintf(b, ", cluster %s", g.Cluster)
	}
	b.WriteByte('\n')
	for _, note := range g.Notes {
		fmt.Fprintf(b, "note: %s\n", note)
	}
	for _, warning := range g.Warnings {
		fmt.Fprintf(b, "warning: %s\n", warning)
	}
	if len(g.Calls) == 0 {
		b.WriteString("no rate limit is asked for\n")
	}
	for i := range g.Calls {
		writeCall(b, &g.Calls[i])
		if x := g.Explanations[i]; x != nil {
			if err := x.WriteText(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeCall lists what a call has, and what does not go into it or is not known.
func writeCall(b *bytes.Buffer, call *envoyconf.Call) {
	when := "before the request goes on"
	if call.AfterResponse {
		when = "after the response; its answer changes nothing"
	}
	fmt.Fprintf(b, "\ncall of domain %s, %s\n", call.Domain, when)
	for i := range call.Descriptors {
		d := &call.Descriptors[i]
		switch {
		case d.Dropped != "":
			fmt.Fprintf(b, "- not sent: the descriptor at %s: %s\n", d.Place, d.Dropped)
		case len(d.Unknown) > 0:
			fmt.Fprintf(b, "- not all is known: %s at %s: %s\n", entryTexts(d.Entries), d.Place, strings.Join(d.Unknown, "; "))
		}
	}
}

func entryTexts(entries []envoyconf.Entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		if texts[i] = e.Key + "=" + e.Value; e.Unknown != "" {
			texts[i] = e.Key + "=?"
		}
	}
	return strings.Join(texts, ", ")
}
