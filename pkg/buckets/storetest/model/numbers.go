package model

import "math/big"

// num is an integer of any size. The functions below never change one.
type num = *big.Int

var (
	zero = big.NewInt(0)
	one  = big.NewInt(1)

	// saturated is where waits and unbounded counts end: 2^52.
	saturated = new(big.Int).Lsh(one, 52)
)

func of(n int64) num          { return big.NewInt(n) }
func ofCount(n uint64) num    { return new(big.Int).SetUint64(n) }
func add(a, b num) num        { return new(big.Int).Add(a, b) }
func sub(a, b num) num        { return new(big.Int).Sub(a, b) }
func mul(a, b num) num        { return new(big.Int).Mul(a, b) }
func floorDiv(a, b num) num   { return new(big.Int).Div(a, b) }
func less(a, b num) bool      { return a.Cmp(b) < 0 }
func equal(a, b num) bool     { return a.Cmp(b) == 0 }
func notAbove(a, b num) bool  { return a.Cmp(b) <= 0 }
func isZero(a num) bool       { return a.Sign() == 0 }
func isPositive(a num) bool   { return a.Sign() > 0 }
func ceilDiv(a, b num) num    { return floorDiv(add(a, sub(b, one)), b) }
func floorTo(a, step num) num { return mul(floorDiv(a, step), step) }

func smaller(a, b num) num {
	if less(a, b) {
		return a
	}
	return b
}

func larger(a, b num) num {
	if less(a, b) {
		return b
	}
	return a
}

// without takes b out of a, at most what is there.
func without(a, b num) num { return larger(zero, sub(a, b)) }

// filled adds b to a but not past most; what is past it already stays.
func filled(a, b, most num) num { return larger(a, smaller(add(a, b), most)) }

// first is the least wait from which on ok holds; ok must never become false
// again. Waits end at saturated. A guess is checked, not trusted: it only
// saves the search.
func first(guess num, ok func(wait num) bool) num {
	if isPositive(guess) && notAbove(guess, saturated) && ok(guess) && !ok(sub(guess, one)) {
		return guess
	}
	if ok(zero) {
		return zero
	}
	low, high := zero, one // not ok at low
	for !ok(high) {
		if !less(high, saturated) {
			return saturated
		}
		low, high = high, smaller(mul(high, of(2)), saturated)
	}
	for less(add(low, one), high) {
		middle := floorDiv(add(low, high), of(2))
		if ok(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
