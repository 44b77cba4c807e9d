package buckets

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Layout is the version of keys and values in a store. It is part of every key.
const Layout = 1

// MaxKeyBytes is the longest bucket key.
const MaxKeyBytes = 256

// MaxPrefixBytes is the longest key prefix.
const MaxPrefixBytes = 64

// Entry is one key and value of a descriptor. Both are bytes, not text.
type Entry struct{ Key, Value string }

// MarkKind says how an entry goes into a bucket's key.
type MarkKind uint8

const (
	Plain     MarkKind = iota // its value
	Shared                    // the rule's text: one bucket for all values
	Sensitive                 // a keyed hash of its value
)

// Mark is how the rule that matched an entry wants it named.
type Mark struct {
	Kind MarkKind
	Text string // for Shared
}

// Keyer names buckets. The name of a bucket is
//
//	PREFIX rls1:{DOMAIN|KEY=VALUE|KEY=VALUE…}:ALGORITHM:WINDOW…
//
// with one KEY=VALUE for each entry. It is injective: every byte that could be
// mistaken is written \xNN. In braces stands the Redis Cluster hash tag. A
// shared value is written KEY~TEXT, a sensitive one KEY=#HASH. A name longer
// than MaxKeyBytes has {#HASH} instead, of the same content. Hashes are the
// first 128 bits of HMAC-SHA256 (sensitive) or SHA-256.
//
// The zero Keyer has no prefix and an empty hash key.
type Keyer struct {
	Prefix  string // see Check
	HashKey []byte // shared by all servers on one store
}

// Check tells whether the prefix can begin a key.
func (k *Keyer) Check() error {
	if len(k.Prefix) > MaxPrefixBytes {
		return fmt.Errorf("key prefix of %d bytes: at most %d", len(k.Prefix), MaxPrefixBytes)
	}
	for i := range len(k.Prefix) {
		if c := k.Prefix[i]; c <= ' ' || c >= 0x7f || c == '{' || c == '}' {
			return fmt.Errorf("key prefix %q: visible ASCII without braces only", k.Prefix)
		}
	}
	return nil
}

// Append appends the key of the bucket of a limit for these entries. marks is
// nil (all plain) or as long as entries.
func (k *Keyer) Append(dst []byte, domain string, entries []Entry, marks []Mark, l *Limit) []byte {
	from := len(dst)
	dst = append(dst, k.Prefix...)
	dst = append(dst, "rls1:{"...)
	tag := len(dst)
	if size := leastTagSize(domain, entries, marks); size <= MaxKeyBytes {
		dst = k.appendTag(dst, domain, entries, marks)
		end := len(dst)
		dst = append(dst, "}:"...)
		dst = l.AppendIdentity(dst)
		if len(dst)-from <= MaxKeyBytes {
			return dst
		}
		dst = appendHash(dst[:tag], sha256.Sum256(dst[tag:end]))
	} else {
		dst = appendHash(dst, sha256.Sum256(k.appendTag(make([]byte, 0, 2*size), domain, entries, marks)))
	}
	dst = append(dst, "}:"...)
	return l.AppendIdentity(dst)
}

// leastTagSize is at most the length of the tag. It counts what goes into the
// tag, not what came with the request: a shared bucket must have one name
// whatever the value was.
func leastTagSize(domain string, entries []Entry, marks []Mark) int {
	size := len(domain)
	for i := range entries {
		size += len(entries[i].Key) + 2
		switch {
		case marks == nil || marks[i].Kind == Plain:
			size += len(entries[i].Value)
		case marks[i].Kind == Shared:
			size += len(marks[i].Text)
		}
	}
	return size
}

func (k *Keyer) appendTag(dst []byte, domain string, entries []Entry, marks []Mark) []byte {
	dst = appendEscaped(dst, domain)
	for i := range entries {
		dst = append(dst, '|')
		dst = appendEscaped(dst, entries[i].Key)
		mark := Mark{}
		if marks != nil {
			mark = marks[i]
		}
		switch mark.Kind {
		case Shared:
			dst = append(dst, '~')
			dst = appendEscaped(dst, mark.Text)
		case Sensitive:
			dst = append(dst, '=')
			dst = k.AppendHashed(dst, entries[i].Value)
		default:
			dst = append(dst, '=')
			dst = appendEscaped(dst, entries[i].Value)
		}
	}
	return dst
}

// AppendHashed appends what stands for a sensitive value in keys, logs and
// pages: # and 32 hexadecimal digits.
func (k *Keyer) AppendHashed(dst []byte, value string) []byte {
	mac := hmac.New(sha256.New, k.HashKey)
	mac.Write([]byte(value))
	return appendHash(dst, [32]byte(mac.Sum(nil)))
}

func appendHash(dst []byte, sum [32]byte) []byte {
	dst = append(dst, '#')
	return hex.AppendEncode(dst, sum[:16])
}

// appendEscaped writes visible ASCII as it is, but for the signs that keys are
// built with, and every other byte as \xNN.
func appendEscaped(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(s) {
		c := s[i]
		if c > ' ' && c < 0x7f && !isSign[c] {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
	}
	return dst
}

var isSign = [256]bool{'\\': true, '{': true, '}': true, '|': true, '=': true, '~': true, '#': true}
