// Package ruletest runs tests of rules: YAML files beside them that say what is
// sent at which time, and what the answer must be.
//
// A test runs on the parts that a server has: the matcher, the limiter and the
// embedded store. Only the clock is another: it stands where a step puts it, so a
// test of a year takes no time and always ends the same. Each test begins with
// untouched buckets.
//
// The language is described in docs/guides/testing-rules.md. Its words are those
// of rule files where both have one; problems are reported in the same form.
package ruletest
