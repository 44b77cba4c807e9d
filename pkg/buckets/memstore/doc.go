// Package memstore is the embedded store: it keeps the states of buckets in
// this process. It needs nothing else installed and is the default.
//
// A restart forgets every bucket, and two processes do not share any. What is
// to survive or to be shared belongs on Redis (package redisstore).
//
// # Shape
//
// Buckets lie in shards, each a table behind a mutex. A call locks the shards of
// all its buckets in ascending order, each once, so a call is atomic and calls
// never wait for each other in a circle. Keys are kept as 128 bits of a seeded
// hash, so no client can aim at a collision. A table is packed entries, 48 bytes
// each, and an index of open addressing that finds them: about 58 bytes a bucket,
// without pointers that the garbage collector would have to follow. Only the logs
// of sliding_window_log lie apart, in a map.
//
// # Bounds
//
// The number of buckets is bounded. At the bound, the bucket nearest to fresh
// of 8 sampled ones is dropped and counted, which forgets the least. A bucket
// that equals a fresh one is dropped without loss: a slow pass walks the shards
// in small steps, and each new bucket looks at the next two of its shard. There
// is no step that stops the world, and memory shrinks again after a peak.
package memstore
