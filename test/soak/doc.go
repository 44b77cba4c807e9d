// Package soak runs the server under more calls than its limits allow, for 20
// seconds, or for as long as SOAK says: its memory stays flat, and each algorithm
// allows what its rate says.
package soak
