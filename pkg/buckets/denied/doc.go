// Package denied answers calls that a store would surely deny without asking it.
//
// A denial says when the same cost would fit if nobody else came. Until then, at
// least as much on the same bucket is denied again, so a caller who hammers on a
// full bucket costs the store one question a second instead of each.
//
// That holds while nobody gives hits back. What this process gives back is known
// here and drops what was remembered; another process is followed within a
// second, the longest that anything is remembered.
package denied
