// Package xdssource gets rules from a control plane over xDS, the way Envoy
// Gateway sends them: one aggregated stream (ADS), state of the world, resources
// of the type ratelimit.config.ratelimit.v3.RateLimitConfig, one for a domain.
//
// Every answer is replied to: accepted, or refused with the names of the
// resources and what is wrong with them. What is right in a refused answer
// applies, what is wrong keeps its last good rules. The same refused content,
// sent again at once as some servers do, is refused in growing intervals.
//
// Whatever ends a stream, the rules in force stay and a new stream is opened,
// with pauses that grow while that fails. A server that has just restarted may
// not know its rules yet: an answer without resources that is the first of its
// stream applies only after half a minute, or when the operator asks for it.
//
// xDS cannot say all that rules can. Rule files with a domain, defaults and no
// descriptors say the rest, such as the algorithm.
package xdssource
