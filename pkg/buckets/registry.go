package buckets

// Algorithm names how a limit counts. The zero value is none.
type Algorithm uint8

// The algorithms, in the order of their rows in the table below. The numbers
// are part of the script protocol.
const (
	TokenBucket Algorithm = iota + 1
	FixedWindow
	SlidingWindowLog
	SlidingWindowCounter
	LeakyBucket
	GCRA
)

// spec is one algorithm: pure functions over a [State]. Each algorithm's file
// says what the fields of its state mean.
type spec struct {
	name     string
	hasBurst bool
	// atOnce says that all room comes back at one moment.
	atOnce bool
	// prepare checks a limit and derives fields of it.
	prepare func(l *Limit) error
	// advance ages a state to now. A state that equals a fresh one is returned
	// as the fresh one, so that dropping it changes nothing.
	advance func(s State, l *Limit, now int64, b *Bounds) State
	// used is how many hits are in the way now.
	used func(s State, l *Limit) uint64
	// charge records hits; the bucket stays within l.maxUsed.
	charge func(s State, l *Limit, hits uint64) State
	// refund takes hits out, at most what is there.
	refund func(s State, l *Limit, hits uint64) State
	// giveBack undoes a charge made at atMicros.
	giveBack func(s State, l *Limit, hits uint64, atMicros int64) State
	// freshIn is the time until the state equals a fresh one: the store keeps
	// it that long.
	freshIn func(s State, l *Limit) int64
	// resetAllowed is what an allowed caller is told. nil means freshIn.
	resetAllowed func(s State, l *Limit) int64
	// fullIn is what a cost above the capacity is told. nil means freshIn.
	fullIn func(s State, l *Limit) int64
	// roomIn is the time until hits fit, for hits that can fit but do not now.
	roomIn func(s State, l *Limit, hits uint64) int64
}

// algorithms has a row for each algorithm, in the order of the constants: the
// only place in Go where one is listed.
var algorithms = [...]spec{
	tokenBucket,
	fixedWindow,
	slidingWindowLog,
	slidingWindowCounter,
	leakyBucket,
	gcra,
}

// Algorithms lists all algorithms in order.
func Algorithms() []Algorithm {
	all := make([]Algorithm, len(algorithms))
	for i := range all {
		all[i] = Algorithm(i + 1)
	}
	return all
}

// ParseAlgorithm finds an algorithm by its name in rule files.
func ParseAlgorithm(name string) (Algorithm, bool) {
	for i := range algorithms {
		if algorithms[i].name == name {
			return Algorithm(i + 1), true
		}
	}
	return 0, false
}

// String is the name in rule files, "none" for the zero value.
func (a Algorithm) String() string {
	if a == 0 || int(a) > len(algorithms) {
		return "none"
	}
	return algorithms[a-1].name
}

// HasBurst tells whether the algorithm has a capacity apart from the amount.
func (a Algorithm) HasBurst() bool { return a != 0 && algorithms[a-1].hasBurst }
