package descriptors

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// selectorKind says how a node picks values.
type selectorKind uint8

const (
	selectAny  selectorKind = iota // key alone
	selectText                     // value, values: exact texts and patterns
	selectCIDR
	selectRegex
)

// selector is what a node says about the entry's value.
type selector struct {
	kind     selectorKind
	at       mark
	exact    []string       // sorted
	patterns []pattern      // sorted by text
	prefixes []netip.Prefix // sorted
	regex    *regexp.Regexp

	// text is injective over all selectors of a key: it tells nodes apart, and
	// names the one bucket of all values under share_threshold.
	text string
	// shown is for people: as written.
	shown string
}

// textSelector is that of value and values.
func textSelector(written []setting[string]) selector {
	s := selector{kind: selectText}
	for _, w := range written {
		p := parsePattern(w.value, w.at)
		if p.literal {
			s.exact = append(s.exact, p.prefix)
		} else {
			s.patterns = append(s.patterns, p)
		}
	}
	slices.Sort(s.exact)
	slices.SortFunc(s.patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	texts := make([]string, 0, len(written))
	for _, value := range s.exact {
		texts = append(texts, quotePattern.Replace(value))
	}
	for i := range s.patterns {
		texts = append(texts, s.patterns[i].text)
	}
	s.text = joinTexts(texts)
	s.shown = show(written)
	return s
}

// joinTexts makes one text of those of a list; a long one is the hash that names
// its bucket, too.
func joinTexts(texts []string) string {
	size := len(texts) - 1
	for _, text := range texts {
		size += len(text)
	}
	if len(texts) == 1 || size <= maxShared {
		return strings.Join(texts, "|")
	}
	h := sha256.New()
	for i, text := range texts {
		if i > 0 {
			hashText(h, "|")
		}
		hashText(h, text)
	}
	return hashedText(h.Sum(nil))
}

// cidrSelector is that of cidr: prefixes are masked and sorted.
func cidrSelector(prefixes []netip.Prefix) selector {
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	texts := make([]setting[string], len(prefixes))
	var text strings.Builder
	for i, prefix := range prefixes {
		texts[i].value = prefix.String()
		text.WriteString(`\:` + texts[i].value)
	}
	return selector{kind: selectCIDR, prefixes: prefixes, text: text.String(), shown: show(texts)}
}

func regexSelector(re *regexp.Regexp) selector {
	return selector{kind: selectRegex, regex: re, text: `\/` + re.String(), shown: re.String()}
}

// maxShown is how many values of a list are shown in the name of a rule.
const maxShown = 4

func show(written []setting[string]) string {
	var texts []string
	for _, w := range written {
		texts = append(texts, shorten(w.value))
	}
	slices.Sort(texts)
	if len(texts) > maxShown {
		more := count(len(texts)-maxShown+1, "other")
		texts = append(texts[:maxShown-1:maxShown-1], more)
	}
	return strings.Join(texts, "|")
}

// shorten makes a text fit to be part of a rule's name, which every limit of the
// rule and every metric of it bears. The checksum only helps people to tell
// texts apart.
func shorten(text string) string {
	const most, kept = 256, 128
	if len(text) <= most {
		return text
	}
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	hashText(h, text)
	return strings.ToValidUTF8(text[:kept], "") + "…#" + hex.EncodeToString(h.Sum(nil))
}

// hashText hashes a text without a copy of it, which an alias could have made
// many times.
func hashText(h io.Writer, text string) {
	var block [1024]byte
	for len(text) > 0 {
		n := copy(block[:], text)
		_, _ = h.Write(block[:n]) // a hash takes everything
		text = text[n:]
	}
}
