package main

import (
	"bytes"
	"testing"
)

// TestShippedRules: the tests of config/ pass and meet every rule and limit of
// it.
func TestShippedRules(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	c := &console{stdout: &stdout, stderr: &stderr}
	if code := c.main([]string{"test", "--coverage", "--fail-under", "100", "../../config"}); code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}
