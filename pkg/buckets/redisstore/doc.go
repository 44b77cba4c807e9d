// Package redisstore keeps buckets in Redis, so that limits hold across all
// servers that share it. A call is one run of one Lua script, which takes the
// time from Redis and decides all buckets of the call at once.
//
// # Who owns what
//
// Connections belong to lanes, not to callers. A lane is a goroutine with one
// connection; it takes every call that waits, sends them as one script run, and
// hands the answers out. A caller waits no longer than its budget and then
// leaves; the answer to what it asked is read and dropped, so that an impatient
// caller costs no connection. There is no timer that waits for company: calls
// share a round trip because they came while the one before was under way.
//
// # Failure
//
// Nothing that may have run is sent again. After five failures in a row
// (connection errors, and callers that waited 10 ms or more in vain) the breaker
// opens: calls fail at once, and a probe on a connection of its own asks four
// times a second whether Redis is back.
package redisstore
