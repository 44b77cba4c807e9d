package bench

import (
	"math"
	"math/rand/v2"
)

// zipf draws numbers from 0 on of which the n-th comes (n+1)^-s as often as the
// first: Walker's alias method, a table look-up a draw for any exponent.
type zipf struct {
	keep  []float64 // the chance that a column stands for itself
	alias []uint32  // what it stands for else
}

func newZipf(n int, exponent float64) *zipf {
	z := &zipf{keep: make([]float64, n), alias: make([]uint32, n)}
	total := 0.0
	for i := range z.keep {
		z.keep[i] = math.Pow(float64(i+1), -exponent)
		total += z.keep[i]
	}
	var poor, rich []int
	for i := range z.keep {
		z.keep[i] *= float64(n) / total
		z.alias[i] = uint32(i)
		if z.keep[i] < 1 {
			poor = append(poor, i)
		} else {
			rich = append(rich, i)
		}
	}
	for len(poor) > 0 && len(rich) > 0 {
		p, r := poor[len(poor)-1], rich[len(rich)-1]
		poor = poor[:len(poor)-1]
		z.alias[p] = uint32(r)
		if z.keep[r] -= 1 - z.keep[p]; z.keep[r] < 1 {
			rich = rich[:len(rich)-1]
			poor = append(poor, r)
		}
	}
	return z
}

func (z *zipf) draw(r *rand.Rand) int {
	i := r.IntN(len(z.keep))
	if r.Float64() < z.keep[i] {
		return i
	}
	return int(z.alias[i])
}
