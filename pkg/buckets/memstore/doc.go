// Package memstore is the embedded store: it keeps the states of buckets in
// this process. It needs nothing else installed and is the default.
//
// A restart forgets every bucket, and two processes do not share any. What is
// to survive or to be shared belongs on Redis (package redisstore).
//
// # Shape
//
// Buckets lie in shards, each a map behind a mutex. A call locks the shards of
// all its buckets in ascending order, each once, so a call is atomic and calls
// never wait for each other in a circle. Keys are kept as 128 bits of a seeded
// hash: no client can aim at a collision, and the maps hold no pointers that
// the garbage collector would have to follow. Only the logs of
// sliding_window_log lie apart, in a second map.
//
// # Bounds
//
// The number of buckets is bounded. At the bound, the bucket nearest to fresh
// of 8 sampled ones is dropped and counted, which forgets the least. A bucket
// that equals a fresh one is dropped without loss: a slow pass walks the shards
// in small steps, and each new bucket looks at two others of its shard. There
// is no step that stops the world, and memory shrinks again after a peak.
package memstore
