// Package model is the slow, obvious twin of the algorithms, for tests only.
//
// It shares no code with them: only the types that carry a call in and its
// answer out. Numbers are big integers that cannot overflow. A wait is not
// computed but searched for: the first moment at which the aged bucket has
// room. So it is a second opinion on every formula of package buckets, on the
// scripts of redisstore, and on what the stores keep.
package model
