package buckets

// SameRoom tells whether two limits that share a bucket make the same room in
// it: what one denies, so does the other.
func (l *Limit) SameRoom(other *Limit) bool {
	return l.Amount == other.Amount && l.Burst == other.Burst &&
		l.WindowMicros == other.WindowMicros && l.RefillMicros == other.RefillMicros &&
		l.Unbounded == other.Unbounded
}

// MoreIn bounds how much longer a denied caller must wait for more hits than it
// was denied, if the greater cost fits the bucket at all. Buckets that drain need
// exactly that or less; a fixed window nothing, for it frees everything at once;
// a sliding window needs at most two windows altogether.
func (l *Limit) MoreIn(hits uint64) int64 {
	window := uint64(l.WindowMicros)
	switch {
	case hits == 0 || l.spec().atOnce:
		return 0
	case !l.Algorithm.HasBurst():
		return 2 * l.WindowMicros
	case l.stepHits > 0:
		steps := (hits + l.stepHits - 1) / l.stepHits
		return min(maxMicros, int64(mulDivUp(steps, uint64(l.RefillMicros), 1, 0)))
	case l.emissionMicros > 0:
		return min(maxMicros, int64(mulDivUp(hits, uint64(l.emissionMicros), 1, 0)))
	}
	return min(maxMicros, int64(mulDivUp(hits, window, l.Amount, 0)))
}
