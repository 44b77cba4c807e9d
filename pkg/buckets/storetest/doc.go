// Package storetest is what every [buckets.Store] must pass. A store's own test
// calls [Run] with a factory, and [RunTraces] with the folder of golden traces:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, open)
//		storetest.RunTraces(t, "../testdata/traces", open)
//	}
//
// Run holds the store to examples of each rule (all or nothing, roles,
// parallel calls, …) and to histories: thousands of random calls, each of
// which the store and the slow model of package model must answer alike, to
// the microsecond and to the byte of what is kept.
//
// A change of what stores have to do starts here, not in the tests of one
// store.
package storetest
