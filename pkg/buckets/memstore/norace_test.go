//go:build !race

package memstore

// allocationsAllowed is how many allocations a decision may make.
const allocationsAllowed = 0
