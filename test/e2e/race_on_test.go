//go:build race

package e2e

// raceEnabled builds the binary under test with the race detector, as the tests
// themselves are.
const raceEnabled = true
