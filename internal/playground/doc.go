// Package playground runs the same traffic through every algorithm in virtual time,
// on a store of its own: what production runs, with a clock that is told.
package playground
