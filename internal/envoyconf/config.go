package envoyconf

import (
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Config is an Envoy's configuration.
type Config struct {
	tree     *descriptors.Tree
	cluster  string // of the node itself: source_cluster
	gateways []*gateway
}

// gateway is an HTTP connection manager that asks for rate limits.
type gateway struct {
	conf     *Config
	listener string
	manager  *node // its typed_config
	filters  []filter
	before   []string // filters that come before the first of them
}

// filter is a rate limit filter.
type filter struct {
	name   string // what routes call it
	config *node
}

type node = descriptors.Node

// field is a field by its name in Envoy's API, which may also be written the way
// of JSON: route_config, routeConfig.
func field(n *node, path ...string) *node {
	for _, name := range path {
		n = n.Get(name, camel(name))
	}
	return n
}

func camel(name string) string {
	var b strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// text is a single value; "" where there is none.
func text(n *node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

func items(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.Items
}

// isType tells whether the typed_config is of the type that ends like this.
func isType(config *node, name string) bool {
	return strings.HasSuffix(text(config.Get("@type")), "."+name)
}

// Parse reads a configuration. It means nothing if there is an error among the
// diagnostics.
func Parse(file descriptors.File) (*Config, []descriptors.Diagnostic) {
	c := &Config{tree: descriptors.ParseTree(file)}
	found := c.tree.Diagnostics()
	if len(found) > 0 {
		return c, found
	}
	for _, doc := range c.tree.Documents {
		c.cluster = text(field(doc, "node", "cluster"))
		for _, listener := range items(field(doc, "static_resources", "listeners")) {
			c.listener(listener)
		}
	}
	if len(c.gateways) == 0 {
		found = append(found, descriptors.Diagnostic{
			Place:   descriptors.Place{File: file.Name},
			Message: "no HTTP connection manager of a static listener has a rate limit filter",
			Hint:    "what comes over xDS is not in this file",
		})
	}
	return c, found
}

func (c *Config) listener(n *node) {
	chains := items(field(n, "filter_chains"))
	if chain := field(n, "default_filter_chain"); chain != nil {
		chains = append(chains[:len(chains):len(chains)], chain)
	}
	for _, chain := range chains {
		for _, f := range items(field(chain, "filters")) {
			if config := field(f, "typed_config"); isType(config, "HttpConnectionManager") {
				c.manager(text(field(n, "name")), config)
			}
		}
	}
}

func (c *Config) manager(listener string, config *node) {
	g := &gateway{conf: c, listener: listener, manager: config}
	for _, f := range items(field(config, "http_filters")) {
		name, of := text(field(f, "name")), field(f, "typed_config")
		switch {
		case isType(of, "ratelimit.v3.RateLimit"):
			g.filters = append(g.filters, filter{name, of})
		case len(g.filters) == 0:
			g.before = append(g.before, name)
		}
	}
	if len(g.filters) > 0 {
		c.gateways = append(c.gateways, g)
	}
}
