//go:build race

package rls_test

// allocationsAllowed is loose here: under the race detector pools drop what they
// are given at random.
const allocationsAllowed = 16
