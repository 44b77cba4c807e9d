// Package spread decides calls whose buckets lie in several places that cannot
// decide together: slots of a Redis Cluster, or two stores.
//
// The places are asked side by side, each for its part of the call, all or
// nothing. If one of them denies, what the others charged is given back. For
// that moment a bucket may deny too much; it never admits too much, also when a
// give-back is lost: it is sent again only if it surely did not arrive.
package spread
