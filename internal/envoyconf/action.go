package envoyconf

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Entry is an entry of a descriptor that Envoy would send.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Unknown says why the value cannot be known; "" if it is.
	Unknown string `json:"unknown,omitempty"`
}

// outcome is what an action makes of a request: an entry, nothing, or the end of
// its descriptor.
type outcome struct {
	entry Entry
	skip  bool   // no entry, but the descriptor goes on
	drop  string // why there is no descriptor
}

// site is where actions are evaluated.
type site struct {
	*seen
	conf    *Config
	route   *node
	cluster string
	unknown string // why the cluster cannot be known; "" if it is
}

func (s *site) act(action *node) outcome {
	for _, kind := range actions {
		if n := field(action, kind.name); n != nil {
			return kind.eval(s, n)
		}
	}
	name := "an action without a kind"
	if len(action.Pairs) > 0 {
		name = action.Pairs[0].Key.Text
	}
	return outcome{entry: Entry{Key: "?", Unknown: "the action " + name + " is not known here"}}
}

// actions has a row for each kind of action.
var actions = []struct {
	name string
	eval func(*site, *node) outcome
}{
	{"source_cluster", (*site).sourceCluster},
	{"destination_cluster", (*site).destinationCluster},
	{"request_headers", (*site).requestHeaders},
	{"query_parameters", (*site).queryParameters},
	{"remote_address", (*site).remoteAddress},
	{"masked_remote_address", (*site).maskedRemoteAddress},
	{"remote_address_match", (*site).remoteAddressMatch},
	{"generic_key", (*site).genericKey},
	{"header_value_match", (*site).headerValueMatch},
	{"query_parameter_value_match", (*site).queryValueMatch},
	{"metadata", (*site).metadata},
	{"dynamic_metadata", (*site).dynamicMetadata},
	{"extension", (*site).extension},
}

func known(key, value string) outcome { return outcome{entry: Entry{Key: key, Value: value}} }

func unsure(key, why string) outcome { return outcome{entry: Entry{Key: key, Unknown: why}} }

// keyOf is an action's descriptor_key, or its default.
func keyOf(n *node, byDefault string) string {
	if key := text(field(n, "descriptor_key")); key != "" {
		return key
	}
	return byDefault
}

// absent is what an action does whose value is not in the request.
func absent(n *node, what string) outcome {
	if text(field(n, "skip_if_absent")) == "true" {
		return outcome{skip: true}
	}
	return outcome{drop: what + " is not in the request"}
}

func (s *site) sourceCluster(*node) outcome {
	if s.conf.cluster == "" {
		return unsure("source_cluster", "the configuration names no node.cluster; --service-cluster may")
	}
	return known("source_cluster", s.conf.cluster)
}

func (s *site) destinationCluster(*node) outcome {
	if s.unknown != "" {
		return unsure("destination_cluster", s.unknown)
	}
	return known("destination_cluster", s.cluster)
}

// selfMade are headers that Envoy sets or changes itself, and what to.
var selfMade = map[string]string{
	"x-request-id":             "Envoy makes it up",
	"x-forwarded-proto":        "Envoy sets it by the connection",
	"x-forwarded-for":          "Envoy may add the peer's address",
	"x-envoy-external-address": "Envoy sets it by the peer's address",
	"x-envoy-internal":         "Envoy sets it by the peer's address",
	":scheme":                  "it depends on the connection",
}

func (s *site) requestHeaders(n *node) outcome {
	name := strings.ToLower(text(field(n, "header_name")))
	if why, made := selfMade[name]; made {
		return unsure(keyOf(n, ""), "the header "+name+": "+why)
	}
	value, found := s.header(name)
	if !found {
		if name == ":authority" || name == "host" {
			return unsure(keyOf(n, ""), "the request names no Host")
		}
		return absent(n, "the header "+name)
	}
	return known(keyOf(n, ""), value)
}

func (s *site) queryParameters(n *node) outcome {
	name := text(field(n, "query_parameter_name"))
	value, found := s.query(name)
	if !found {
		return absent(n, "the query parameter "+name)
	}
	return known(keyOf(n, ""), value)
}

func (s *site) remoteAddress(*node) outcome { return known("remote_address", s.remote.String()) }

func (s *site) maskedRemoteAddress(n *node) outcome {
	name, bits := "v4_prefix_mask_len", 32
	if s.remote.Is6() {
		name, bits = "v6_prefix_mask_len", 128
	}
	if given := field(n, name); given != nil {
		bits, _ = strconv.Atoi(given.Text)
	}
	prefix, err := s.remote.Prefix(bits)
	if err != nil {
		return unsure("masked_remote_address", name+" is out of range")
	}
	return known("masked_remote_address", prefix.String())
}

func (s *site) remoteAddressMatch(n *node) outcome {
	matcher := field(n, "address_matcher")
	inside := false
	for _, r := range items(field(matcher, "ranges")) {
		bits := text(field(r, "prefix_len"))
		prefix, err := netip.ParsePrefix(text(field(r, "address_prefix")) + "/" + bits)
		inside = inside || err == nil && prefix.Contains(s.remote)
	}
	if inside == (text(field(matcher, "invert_match")) == "true") {
		return outcome{drop: "remote_address_match does not match"}
	}
	return formatted(keyOf(n, "remote_address_match"), text(field(n, "descriptor_value")))
}

// formatted is a value in which Envoy puts what %…% stands for.
func formatted(key, value string) outcome {
	if strings.Contains(value, "%") {
		return unsure(key, "the format "+value)
	}
	return known(key, value)
}

func (s *site) genericKey(n *node) outcome {
	return known(keyOf(n, "generic_key"), text(field(n, "descriptor_value")))
}

func (s *site) headerValueMatch(n *node) outcome {
	return matched(n, "header_match", "headers", s.matchHeader)
}

func (s *site) queryValueMatch(n *node) outcome {
	return matched(n, "query_match", "query_parameters", s.matchQuery)
}

// matched is an action that has a fixed value if its matchers take the request.
func matched(n *node, byDefault, list string, match func(*node) (bool, string)) outcome {
	key, want := keyOf(n, byDefault), text(field(n, "expect_match")) != "false"
	ok, unknown := all(field(n, list), match)
	value := text(field(n, "descriptor_value"))
	switch {
	case unknown != "":
		return unsure(key, unknown)
	case ok == want:
		return known(key, value)
	case want:
		return outcome{drop: fmt.Sprintf("%s=%s does not match", key, value)}
	}
	return outcome{drop: fmt.Sprintf("%s=%s matches, which is not to be", key, value)}
}

// metadata is known where it is that of the route.
func (s *site) metadata(n *node) outcome {
	key := keyOf(n, "")
	at := text(field(n, "metadata_key", "key"))
	if source := text(field(n, "source")); source != "ROUTE_ENTRY" && source != "1" {
		return unsure(key, "dynamic metadata of "+at)
	}
	value := field(s.route, "metadata", "filter_metadata").Get(at)
	for _, segment := range items(field(n, "metadata_key", "path")) {
		value = value.Get(text(field(segment, "key")))
	}
	switch {
	case value != nil && value.Kind == descriptors.TextNode && value.Text != "":
		return known(key, value.Text)
	case text(field(n, "default_value")) != "":
		return known(key, text(field(n, "default_value")))
	}
	return absent(n, "the metadata "+at)
}

func (s *site) dynamicMetadata(n *node) outcome {
	return unsure(keyOf(n, ""), "dynamic metadata of "+text(field(n, "metadata_key", "key")))
}

// extension knows the attributes of a request that CEL has no more than a name
// for.
func (s *site) extension(n *node) outcome {
	config := field(n, "typed_config")
	key, expr := keyOf(config, ""), strings.TrimSpace(text(field(config, "text")))
	switch expr {
	case "request.url_path":
		return known(key, s.path)
	case "request.path":
		return known(key, s.target)
	case "request.method":
		return known(key, s.method)
	case "":
		return unsure(key, "the extension "+text(field(n, "name")))
	}
	return unsure(key, "the expression "+expr)
}
