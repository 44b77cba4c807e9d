// Package redistest runs a real redis-server for tests: on a free port of
// 127.0.0.1, in a folder of its own, without persistence. It stops what it
// started, by process id, when the test ends. A machine without redis-server
// fails the test and is told what to install; nothing is skipped.
package redistest
