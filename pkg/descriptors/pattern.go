package descriptors

import (
	"cmp"
	"strings"
)

// pattern is a text in which * stands for any run of characters.
type pattern struct {
	at      mark
	text    string // one spelling for each pattern; see quotePattern
	prefix  string // what values begin with
	suffix  string // what they end with
	middle  []string
	weight  int  // literal bytes in all
	literal bool // no *: prefix is the whole value
}

// quotePattern spells literal text in a pattern's text. There a \ is always
// followed by one of these three, which no other selector's text has.
var quotePattern = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `|`, `\|`)

// parsePattern reads a value of a rule file. A \ is special only before a *:
// \* is a star, \\* a \ and any run.
func parsePattern(written string, at mark) pattern {
	if !strings.Contains(written, "*") {
		return pattern{at: at, text: quotePattern.Replace(written), prefix: written, weight: len(written), literal: true}
	}
	p := pattern{at: at}
	var parts []string
	var part strings.Builder
	for i := 0; i < len(written); {
		slashes := len(written[i:]) - len(strings.TrimLeft(written[i:], `\`))
		star := i+slashes < len(written) && written[i+slashes] == '*'
		switch {
		case star:
			part.WriteString(strings.Repeat(`\`, slashes/2))
			if slashes%2 == 1 {
				part.WriteByte('*')
			} else {
				parts = append(parts, part.String())
				part.Reset()
			}
			i += slashes + 1
		default:
			part.WriteString(written[i:min(len(written), i+max(1, slashes))])
			i += max(1, slashes)
		}
	}
	parts = append(parts, part.String())
	last := len(parts) - 1
	p.literal = last == 0
	p.prefix, p.suffix = parts[0], parts[last]
	for i, part := range parts {
		p.weight += len(part)
		if 0 < i && i < last && part != "" {
			p.middle = append(p.middle, part)
		}
	}
	p.text = p.spell()
	return p
}

func (p *pattern) spell() string {
	if p.literal {
		return quotePattern.Replace(p.prefix)
	}
	var b strings.Builder
	b.WriteString(quotePattern.Replace(p.prefix))
	for _, part := range p.middle {
		b.WriteString("*" + quotePattern.Replace(part))
	}
	b.WriteString("*" + quotePattern.Replace(p.suffix))
	return b.String()
}

func (p *pattern) matches(value string) bool {
	if len(value) < len(p.prefix)+len(p.suffix) || !strings.HasPrefix(value, p.prefix) || !strings.HasSuffix(value, p.suffix) {
		return false
	}
	rest := value[len(p.prefix) : len(value)-len(p.suffix)]
	for _, part := range p.middle {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return true
}

// all tells whether every value matches.
func (p *pattern) all() bool { return !p.literal && p.weight == 0 }

// compareSpecific puts the more specific pattern first: the longer literal
// prefix, then more literal bytes, then byte order.
func compareSpecific(a, b *pattern) int {
	return cmp.Or(
		cmp.Compare(len(b.prefix), len(a.prefix)),
		cmp.Compare(b.weight, a.weight),
		cmp.Compare(a.text, b.text),
	)
}

// tied tells whether nothing but byte order decides between two patterns that
// may match the same value.
func tied(a, b *pattern) bool {
	return a.prefix == b.prefix && a.weight == b.weight &&
		(strings.HasSuffix(a.suffix, b.suffix) || strings.HasSuffix(b.suffix, a.suffix))
}
