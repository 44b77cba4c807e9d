//go:build !race

package rls_test

// allocationsAllowed is how many allocations a decision may make.
const allocationsAllowed = 0
