package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Tags of google.protobuf.Struct and its parts.
const (
	structFields = byte(1<<3 | bytes)

	fieldKey   = byte(1<<3 | bytes)
	fieldValue = byte(2<<3 | bytes)

	valueNull   = byte(1<<3 | varint)
	valueNumber = byte(2<<3 | uint64(protowire.Fixed64Type))
	valueString = byte(3<<3 | bytes)
	valueBool   = byte(4<<3 | varint)
	valueStruct = byte(5<<3 | bytes)
	valueList   = byte(6<<3 | bytes)

	listValues = byte(1<<3 | bytes)
)

// MaxMetadataDepth is how deep metadata is written; what lies deeper is written
// as null. Each level takes three messages, and Envoy refuses an answer, and so
// lets the request through unlimited, if more than 100 are nested.
const MaxMetadataDepth = 30

// appendStruct appends the fields of a Struct in the order of their names.
func appendStruct(dst []byte, m map[string]any, depth int) []byte {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		var start int
		dst, start = open(dst, structFields)
		dst = appendString(dst, fieldKey, name)
		dst = appendValue(dst, fieldValue, m[name], depth)
		dst = shut(dst, start)
	}
	return dst
}

// appendValue appends a Value as the sub-message tag. A number that JSON lacks
// is written as its name; a type that metadata cannot have, as its text.
func appendValue(dst []byte, tag byte, v any, depth int) []byte {
	dst, start := open(dst, tag)
	switch v := v.(type) {
	case nil:
		dst = append(dst, valueNull, 0)
	case string:
		dst = appendString(dst, valueString, v)
	case bool:
		dst = append(dst, valueBool, byte(protowire.EncodeBool(v)))
	case float64:
		dst = appendNumber(dst, v)
	case map[string]any:
		dst = appendNested(dst, valueStruct, depth, func(dst []byte) []byte {
			return appendStruct(dst, v, depth+1)
		})
	case []any:
		dst = appendNested(dst, valueList, depth, func(dst []byte) []byte {
			for _, item := range v {
				dst = appendValue(dst, listValues, item, depth+1)
			}
			return dst
		})
	default:
		dst = appendString(dst, valueString, fmt.Sprint(v))
	}
	return shut(dst, start)
}

func appendNested(dst []byte, tag byte, depth int, content func([]byte) []byte) []byte {
	if depth >= MaxMetadataDepth {
		return append(dst, valueNull, 0)
	}
	dst, start := open(dst, tag)
	return shut(content(dst), start)
}

func appendNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return appendString(dst, valueString, "NaN")
	case math.IsInf(f, 1):
		return appendString(dst, valueString, "Infinity")
	case math.IsInf(f, -1):
		return appendString(dst, valueString, "-Infinity")
	}
	return protowire.AppendFixed64(append(dst, valueNumber), math.Float64bits(f))
}
