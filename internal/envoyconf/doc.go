// Package envoyconf reads an Envoy's configuration as far as rate limits need it,
// and says which descriptors a request would make it send.
//
// It follows Envoy 1.40: static listeners with an HTTP connection manager and
// routes in place, the rate limit filter's lists on routes, virtual hosts and the
// filter itself. What depends on more than the configuration and the request
// (metadata of other filters, runtime, routes from elsewhere) cannot be known, and
// is said to be so; nothing is guessed.
//
// Envoy's generated types are not used: a configuration with a filter that this
// binary does not link could not be read at all then.
package envoyconf
