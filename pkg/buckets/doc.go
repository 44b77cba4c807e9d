// Package buckets is the arithmetic of rate limits: what a bucket holds, how it
// ages, whether a call fits, and what a caller is told about it.
//
// The package is pure. It reads no clock, opens no connection and keeps no
// state of its own: every function takes the state of a bucket, the limit, the
// cost and the time, and returns the new state and the verdict. It knows
// nothing of Envoy, YAML or Redis. Sub-packages hold the states: memstore in
// this process, redisstore on Redis with the same arithmetic in Lua.
//
// # Words
//
// A [Limit] is what is enforced: an amount L in a window W, by an [Algorithm].
// A bucket is the state of one limit for one set of values and is named by its
// key (see [Keyer]). A [Call] is a list of buckets that are decided together,
// all or nothing; each [Item] of it gets a [Verdict].
//
// # Units
//
// Times are whole microseconds since the Unix epoch, durations whole
// microseconds. All arithmetic is on integers and exact; what does not fit is
// saturated ([maxMicros], [maxCount]), never wrapped. Every number that is kept
// or computed stays below 2^53, so that Lua's doubles hold it exactly and the
// Lua twin of each algorithm gives the same answer to the microsecond.
//
// # Time
//
// Time is an argument and may go backwards between calls; a bucket's own time
// never does. A stored time ahead of now by at most the window is trusted (now
// becomes the stored time); one further ahead is taken for a fault and read as
// now.
package buckets
