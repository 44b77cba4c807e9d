package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendString appends a string field. Bytes that are not UTF-8, for which
// Envoy would refuse the whole answer, are written as \xNN.
func appendString(dst []byte, tag byte, s string) []byte {
	dst = append(dst, tag)
	if !utf8.ValidString(s) {
		s = escape(s)
	}
	return protowire.AppendString(dst, s)
}

func escape(s string) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(s)+16)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			out = append(out, '\\', 'x', hex[s[0]>>4], hex[s[0]&15])
		} else {
			out = append(out, s[:size]...)
		}
		s = s[size:]
	}
	return string(out)
}
