package storetest

import "testing"

// TestPlain also tests the tests: the simplest store passes them.
func TestPlain(t *testing.T) {
	t.Parallel()
	Run(t, OpenPlain)
	RunTraces(t, "../testdata/traces", OpenPlain)
}
