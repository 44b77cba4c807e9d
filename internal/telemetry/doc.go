// Package telemetry is what the server says about itself: Prometheus metrics
// in a registry of their own, and the log.
//
// Handles of metrics are made when rules are compiled and used on the way of a
// call without a lookup. Label values come from rules and settings, never from
// traffic, so the number of series is known beforehand; the one exception, the
// label value of rules with detailed_metric or value_to_metric, ends at
// [MaxValues]. When a rule vanishes, so do its series.
//
// The package knows nothing of rules, stores or gRPC: it is given names and
// numbers.
package telemetry
