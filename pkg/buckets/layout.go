package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Values of layout 1, big endian, as the scripts on Redis write them:
//
//	token_bucket, leaky_bucket   1, algorithm, count u64, frac u64, time u64
//	fixed_window                 1, algorithm, count u64, start u64
//	sliding_window_counter       1, algorithm, count u64, prev u64, start u64
//	gcra                         1, algorithm, tat u64
//	sliding_window_log           1, algorithm, count u64, then (time u64, hits u32)…
//
// The first byte is the layout, the second the number of the [Algorithm]. First
// bytes 2 to 15 belong to later layouts and are never overwritten; anything
// else is foreign.

// Errors of [ParseState].
var (
	ErrForeign = errors.New("not a bucket's state")
	ErrNewer   = errors.New("a bucket's state of a newer release")
)

const (
	valueHead   = 2
	logHead     = valueHead + 8
	logEntry    = 12
	newestFirst = 15 // the highest first byte that may be a layout
)

// fields lists where the numbers of a state of the algorithm are, in order.
func (a Algorithm) fields(s *State) []any {
	switch a {
	case FixedWindow:
		return []any{&s.Count, &s.Time}
	case SlidingWindowCounter:
		return []any{&s.Count, &s.Prev, &s.Time}
	case SlidingWindowLog:
		return []any{&s.Count}
	case GCRA:
		return []any{&s.Time}
	}
	return []any{&s.Count, &s.Frac, &s.Time}
}

// AppendState appends the value that a state has in a store.
func AppendState(dst []byte, a Algorithm, s State) []byte {
	dst = append(dst, Layout, byte(a))
	for _, field := range a.fields(&s) {
		switch number := field.(type) {
		case *uint64:
			dst = binary.BigEndian.AppendUint64(dst, *number)
		case *int64:
			dst = binary.BigEndian.AppendUint64(dst, uint64(*number))
		}
	}
	for _, hit := range s.Log {
		dst = binary.BigEndian.AppendUint64(dst, uint64(hit.Time))
		dst = binary.BigEndian.AppendUint32(dst, uint32(hit.Hits))
	}
	return dst
}

// ParseState reads a value. It fails with ErrForeign or ErrNewer.
func ParseState(a Algorithm, value []byte) (State, error) {
	var s State
	if len(value) > 0 && value[0] > Layout && value[0] <= newestFirst {
		return s, fmt.Errorf("layout %d: %w", value[0], ErrNewer)
	}
	fields := a.fields(&s)
	head := valueHead + 8*len(fields)
	isLog := a == SlidingWindowLog
	if len(value) < head || value[0] != Layout || value[1] != byte(a) ||
		!isLog && len(value) != head || isLog && (len(value)-logHead)%logEntry != 0 {
		return s, ErrForeign
	}
	for i, field := range fields {
		number := binary.BigEndian.Uint64(value[valueHead+8*i:])
		if number > 1<<53 {
			return State{}, ErrForeign
		}
		switch field := field.(type) {
		case *uint64:
			*field = number
		case *int64:
			*field = int64(number)
		}
	}
	for rest := value[head:]; len(rest) > 0; rest = rest[logEntry:] {
		s.Log = append(s.Log, Hit{
			Time: int64(binary.BigEndian.Uint64(rest)),
			Hits: uint64(binary.BigEndian.Uint32(rest[8:])),
		})
	}
	return s, nil
}
