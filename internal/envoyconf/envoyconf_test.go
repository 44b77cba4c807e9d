package envoyconf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/envoyconf"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// What Envoy itself makes of requests is compared in test/e2e. Here is what the
// prediction says of things that it cannot know.

// gateway is a configuration with one route of these rate limits.
func gateway(limits string) string {
	return `static_resources:
  listeners:
  - name: main
    filterChains:
    - filters:
      - typedConfig:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          useRemoteAddress: true
          httpFilters:
          - {name: lua}
          - name: limits
            typedConfig: {"@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit, domain: d}
          routeConfig:
            virtualHosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {weightedClusters: {}, rateLimits: [` + limits + `]}
`
}

func predict(t *testing.T, config, line string, headers ...string) envoyconf.Prediction {
	t.Helper()
	c, found := envoyconf.Parse(descriptors.File{Name: "envoy.yaml", Data: []byte(config)})
	if len(found) > 0 {
		t.Fatal(found)
	}
	req, err := envoyconf.ParseRequest(line, headers, "2001:db8::7")
	if err != nil {
		t.Fatal(err)
	}
	all := c.Predict(req)
	if len(all) != 1 {
		t.Fatalf("%d predictions, want 1", len(all))
	}
	return all[0]
}

// show writes descriptors down: key=value, ? for what is unknown.
func show(p envoyconf.Prediction) string {
	var texts []string
	for _, call := range p.Calls {
		for _, d := range call.Descriptors {
			var entries []string
			for _, e := range d.Entries {
				if e.Unknown != "" {
					e.Value = "?"
				}
				entries = append(entries, e.Key+"="+e.Value)
			}
			text := strings.Join(entries, ",")
			if d.Dropped != "" {
				text = "dropped: " + d.Dropped
			}
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

func TestActions(t *testing.T) {
	t.Parallel()
	for actions, want := range map[string]string{
		"{remoteAddress: {}}":                                                             "remote_address=2001:db8::7",
		"{maskedRemoteAddress: {v6PrefixMaskLen: 32}}":                                    "masked_remote_address=2001:db8::/32",
		"{masked_remote_address: {}}":                                                     "masked_remote_address=2001:db8::7/128",
		"{destinationCluster: {}}":                                                        "destination_cluster=?",
		"{sourceCluster: {}}":                                                             "source_cluster=?",
		"{requestHeaders: {headerName: X-A, descriptorKey: a}}":                           "a=1,2",
		"{requestHeaders: {headerName: x-b, descriptorKey: a}}":                           "dropped: the header x-b is not in the request",
		"{requestHeaders: {headerName: x-request-id, descriptorKey: a}}":                  "a=?",
		"{metadata: {descriptorKey: m, metadataKey: {key: jwt}}}":                         "m=?",
		"{dynamicMetadata: {descriptorKey: m}}":                                           "m=?",
		"{extension: {name: x, typedConfig: {descriptorKey: e, text: \"request.size\"}}}": "e=?",
		"{extension: {name: x, typedConfig: {descriptorKey: e, text: request.path}}}":     "e=/p?q=1",
		"{unheardOf: {}}": "?=?",
		"{remoteAddressMatch: {descriptorValue: in, addressMatcher: {ranges: [{addressPrefix: \"2001:db8::\", prefixLen: 32}]}}}":                    "remote_address_match=in",
		"{remoteAddressMatch: {descriptorValue: in, addressMatcher: {invertMatch: true, ranges: [{addressPrefix: \"2001:db8::\", prefixLen: 32}]}}}": "dropped: remote_address_match does not match",
		"{headerValueMatch: {descriptorValue: v, headers: [{name: x-a, stringMatch: {custom: {}}}]}}":                                                "header_match=?",
		"{headerValueMatch: {descriptorValue: v, headers: [{name: x-a, exactMatch: \"1,2\"}]}}":                                                      "header_match=v",
	} {
		p := predict(t, gateway("{actions: ["+actions+"]}"), "GET /p?q=1", "x-a: 1", "X-A: 2")
		if got := show(p); got != want {
			t.Errorf("%s: %s, want %s", actions, got, want)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const limits = "{actions: [{genericKey: {descriptorValue: v}}], disableKey: off, hitsAddend: {format: '%BYTES_RECEIVED%'}, limit: {dynamicMetadata: {}}}"
	p := predict(t, gateway(limits), "GET /")
	if got := strings.Join(p.Notes, "\n"); !strings.Contains(got, "lua") || !strings.Contains(got, "the cluster is chosen at random") {
		t.Errorf("notes:\n%s", got)
	}
	if got := fmt.Sprint(p.Calls[0].Descriptors[0].Unknown); !strings.Contains(got, "%BYTES_RECEIVED%") ||
		!strings.Contains(got, "off") || !strings.Contains(got, "limit: dynamic metadata") {
		t.Errorf("unknown: %s", got)
	}
	matching := strings.Replace(gateway(""), "match: {prefix: /}", "match: {prefix: /, runtimeFraction: {}}", 1)
	if got := strings.Join(predict(t, matching, "GET /").Notes, "\n"); !strings.Contains(got, "depends on runtime_fraction") {
		t.Errorf("notes:\n%s", got)
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "no HTTP connection manager",
		"static_resources: {}":   "no HTTP connection manager",
		"static_resources: [":    "not YAML",
		"listeners: {a: 1, a: 2": "not YAML",
	} {
		_, found := envoyconf.Parse(descriptors.File{Name: "envoy.yaml", Data: []byte(text)})
		if len(found) == 0 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%q: %v, want %s", text, found, want)
		}
	}
	for _, r := range [][2]string{{"GET", ""}, {"cart", ""}, {"GET cart", ""}, {"GET /", "x-a"}} {
		if _, err := envoyconf.ParseRequest(r[0], strings.Fields(r[1]), "127.0.0.1"); err == nil {
			t.Errorf("request %q with header %q is taken", r[0], r[1])
		}
	}
}

// FuzzPredict: no configuration and no request makes it panic.
func FuzzPredict(f *testing.F) {
	f.Add(gateway("{actions: [{remoteAddress: {}}], hitsAddend: {number: 2}}"), "GET /a/../b?x=%zz&y#z", "x-forwarded-for: 1.2.3.4, x")
	f.Add(gateway("{actions: [{headerValueMatch: {headers: [{name: a, safeRegexMatch: {regex: '('}}]}}]}"), "GET /%2e%2E/", "a: b")
	f.Fuzz(func(t *testing.T, config, line, header string) {
		c, _ := envoyconf.Parse(descriptors.File{Name: "envoy.yaml", Data: []byte(config)})
		req, err := envoyconf.ParseRequest(line, []string{header}, "10.0.0.1")
		if err != nil {
			return
		}
		for _, p := range c.Predict(req) {
			for i := range p.Calls {
				if call, sent := p.Calls[i].Request(); len(call.Descriptors) != len(sent) {
					t.Fatalf("%d descriptors, %d of them sent", len(call.Descriptors), len(sent))
				}
			}
		}
	})
}
