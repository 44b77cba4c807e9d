// Package explain tells how a call is decided: the way of each descriptor through
// the rules, why it ends where it does, the limits and their buckets, and what
// each of them says.
//
// It decides nothing itself. The way is told by the matcher (Domain.Observe), the
// rest by the limiter (Limiter.Explain): what it shows is what a server answers
// that has the same rules, options and buckets.
package explain
