package descriptors

import (
	"cmp"
	"unicode/utf8"
)

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// mark is a Place in the small, and how long the text is there. A report makes
// a Place of it.
type mark struct {
	src       int32 // number of the source in the report, from 1; 0 = none
	line, col int32
	length    int32 // in characters; 0 = unknown
}

// source is a text that marks point into.
type source struct {
	name  string
	data  []byte
	lines []int // where each line begins; found when first needed
	// paths has, for a source without text, what is in the place of columns of
	// line 0: the paths of rules.
	paths []string

	// Where a column of a line was last looked for: the next is most often
	// further on in the same line.
	line, col, offset int
}

// text is line n of the source, without its break.
func (s *source) text(n int) []byte {
	if s.lines == nil {
		s.lines = lineStarts(s.data)
	}
	if n < 1 || n > len(s.lines) {
		return nil
	}
	end := len(s.data)
	if n < len(s.lines) {
		end = s.lines[n]
	}
	line := s.data[s.lines[n-1]:end]
	for back := 1; back <= min(3, len(line)); back++ {
		if at := len(line) - back; breakLen(line[at:]) == back {
			return line[:at]
		}
	}
	return line
}

// A longer line is shown in part, from some bytes before the mark.
const (
	maxSource  = 1024
	sourceLead = 256
)

// excerpt is the line of a mark, or the part around it, and the column of the
// mark in that.
func (s *source) excerpt(m mark) (text string, col int) {
	line := s.text(int(m.line))
	if len(line) <= maxSource {
		return string(line), int(m.col)
	}
	if s.line != int(m.line) || s.col > int(m.col) {
		s.line, s.col, s.offset = int(m.line), 1, 0
	}
	for s.col < int(m.col) && s.offset < len(line) {
		_, size := utf8.DecodeRune(line[s.offset:])
		s.offset += size
		s.col++
	}
	from := max(0, s.offset-sourceLead)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	part := line[from:min(len(line), from+maxSource)]
	return string(part), utf8.RuneCount(line[from:s.offset]) + 1
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i := 0; i < len(data); {
		n := breakLen(data[i:])
		if n > 0 {
			starts = append(starts, i+n)
		}
		i += max(1, n)
	}
	return starts
}

// breakLen is the length of the line break that b begins with: YAML 1.1 knows
// CR, LF, CR LF, NEL, LS and PS.
func breakLen(b []byte) int {
	switch b[0] {
	case '\n':
		return 1
	case '\r':
		if len(b) > 1 && b[1] == '\n' {
			return 2
		}
		return 1
	case 0xc2:
		if len(b) > 1 && b[1] == 0x85 {
			return 2
		}
	case 0xe2:
		if len(b) > 2 && b[1] == 0x80 && b[2]|1 == 0xa9 {
			return 3
		}
	}
	return 0
}

// find is line and column of the byte at offset.
func (s *source) find(offset int) (line, col int32) {
	line = 1
	start := 0
	for i := 0; i < offset; {
		n := breakLen(s.data[i:])
		if n > 0 {
			line, start = line+1, i+n
		}
		i += max(1, n)
	}
	return line, int32(utf8.RuneCount(s.data[min(start, offset):offset]) + 1)
}
