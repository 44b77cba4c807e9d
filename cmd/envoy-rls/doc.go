// Command envoy-rls is a rate limit server for Envoy, and the tools for its
// rules. Without an argument, or with run, it serves.
//
// Each command is one file; wire.go is the only place that names stores and
// rule sources.
package main
