//go:build race

package memstore

// allocationsAllowed is more than none here: under the race detector a sync.Pool
// forgets at random what it holds.
const allocationsAllowed = 20
