// Package lifecycle owns the order in which a server starts and ends, and what
// it says about its state meanwhile.
//
// A server is starting, then ready, then draining, then stopped. Its ports open
// first, while it is not ready; it becomes ready once it has rules and its store
// has answered; told to end, it says that it is not ready, goes on serving until
// callers have turned away, finishes what it has begun, and stops. [Health] is
// the state, [Server] the order.
//
// The package knows neither rules nor stores nor protocols.
package lifecycle
