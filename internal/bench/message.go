package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// requests makes encoded RateLimitRequests as gRPC frames them.
type requests struct {
	domain      []byte
	descriptors [][][]byte // for each key of a call, for each number: encoded
	hits        []byte
	draws       *zipf
}

func newRequests(c *Config) *requests {
	r := &requests{domain: appendField(nil, 1, []byte(c.Domain)), draws: newZipf(c.Keys, c.Exponent)}
	for _, key := range c.Descriptors {
		encoded := make([][]byte, c.Keys)
		for n := range encoded {
			entry := appendField(nil, 1, []byte(key))
			entry = appendField(entry, 2, fmt.Appendf(nil, "u%010d", n))
			encoded[n] = appendField(nil, 2, appendField(nil, 1, entry))
		}
		r.descriptors = append(r.descriptors, encoded)
	}
	if c.Hits > 0 {
		r.hits = binary.AppendUvarint([]byte{3 << 3}, uint64(c.Hits))
	}
	return r
}

// appendField appends a field of bytes whose number is below 16.
func appendField(dst []byte, field byte, value []byte) []byte {
	dst = append(dst, field<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// append appends a request to dst, and returns the number of its first value.
func (r *requests) append(dst []byte, random *rand.Rand) ([]byte, int) {
	from, first := len(dst), -1
	dst = append(dst, make([]byte, frame)...)
	dst = append(dst, r.domain...)
	for _, encoded := range r.descriptors {
		n := r.draws.draw(random)
		if first < 0 {
			first = n
		}
		dst = append(dst, encoded[n]...)
	}
	dst = append(dst, r.hits...)
	setFrame(dst[from:])
	return dst, first
}

// frame is how many bytes gRPC puts before a message: a flag and the length.
const frame = 5

func setFrame(message []byte) []byte {
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-frame))
	return message
}

var errAnswer = errors.New("no RateLimitResponse")

// readAnswer reads overall_code and counts the statuses of an answer as gRPC
// frames it.
func readAnswer(data []byte) (code uint64, statuses int, err error) {
	if len(data) < frame || data[0] != 0 || int(binary.BigEndian.Uint32(data[1:])) != len(data)-frame {
		return 0, 0, errAnswer
	}
	for data = data[frame:]; len(data) > 0; {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return 0, 0, errAnswer
		}
		value, m := binary.Uvarint(data[n:])
		if m <= 0 {
			return 0, 0, errAnswer
		}
		data = data[n+m:]
		switch tag & 7 {
		case 0:
			if tag == 1<<3 {
				code = value
			}
		case 2:
			if value > uint64(len(data)) {
				return 0, 0, errAnswer
			}
			data = data[value:]
			if tag == 2<<3|2 {
				statuses++
			}
		default: // the message has no others
			return 0, 0, errAnswer
		}
	}
	return code, statuses, nil
}
