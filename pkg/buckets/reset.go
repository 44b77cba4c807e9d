package buckets

// AllHits is more than any bucket holds. A [Refund] of AllHits makes a bucket
// as new, whatever its algorithm and whatever amount it was charged under: it
// is gone from the store afterwards.
const AllHits = maxCount

// Reset is the item that makes a bucket as new.
func Reset(key []byte, l *Limit) Item { return Grant(key, l, AllHits) }

// Grant is the item that gives a bucket hits back that nobody has paid for, at
// most what is in use.
func Grant(key []byte, l *Limit, hits uint64) Item {
	return Item{Key: key, Limit: l, Hits: min(hits, AllHits), Op: Refund}
}
