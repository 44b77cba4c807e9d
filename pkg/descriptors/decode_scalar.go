package descriptors

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

const quoteStyles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar finds a single value: not a map, a list, nothing, or a tagged one.
func (d *decoder) scalar(at *yaml.Node) (*yaml.Node, bool) {
	n, ok := d.enter(at)
	if !ok {
		return nil, false
	}
	d.leave()
	switch {
	case isNull(n) && n.Value == "":
		d.fail(at, "", "%s has nothing after it", d.field())
	case isNull(n):
		d.fail(at, "for this text, write it in quotes: "+strconv.Quote(n.Value), "%s is %s, which is nothing in YAML", d.field(), n.Value)
	case isTemplate(n):
		d.template(at)
	case n.Kind != yaml.ScalarNode:
		d.fail(at, "", "%s must be a single value, not %s", d.field(), describe(n))
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str":
		d.fail(at, "leave the tag out", "the tag %s has no meaning here", n.Tag)
	case len(n.Value) > maxTextBytes:
		d.fail(at, "", "%s is longer than %d bytes", d.field(), maxTextBytes)
	default:
		return n, true
	}
	return nil, false
}

// text is a value as it stands in the source: 010, yes and 1.10 are texts too.
func (d *decoder) text(at *yaml.Node) setting[string] {
	n, ok := d.scalar(at)
	if !ok {
		return setting[string]{at: d.mark(at)}
	}
	if templateText(n.Value) {
		d.warn(at, renderHint, "%s holds {{ … }}, which is taken as it stands", d.field())
	}
	return setting[string]{n.Value, d.mark(at), true}
}

// name is a text that is not empty. Control characters in it load, for a request
// may hold them, but hardly does.
func (d *decoder) name(at *yaml.Node) setting[string] {
	s := d.text(at)
	if strings.ContainsFunc(s.value, unicode.IsControl) {
		d.warn(at, "was a line break or a tab meant?", "%s holds a control character: only the very same bytes match it", d.field())
	}
	if s.set && s.value == "" {
		d.fail(at, "", "%s must not be empty", d.field())
		s.set = false
	}
	return s
}

var truths = map[bool][]string{
	true:  {"true", "yes", "on", "y"},
	false: {"false", "no", "off", "n"},
}

// boolean takes what YAML 1.1 does, as rule files of old say yes and on.
func (d *decoder) boolean(at *yaml.Node) setting[bool] {
	n, ok := d.scalar(at)
	if !ok {
		return setting[bool]{at: d.mark(at)}
	}
	if n.Style&quoteStyles == 0 {
		for _, truth := range []bool{true, false} {
			for _, word := range truths[truth] {
				if n.Value == word || n.Value == strings.ToUpper(word) || n.Value == strings.ToUpper(word[:1])+word[1:] {
					return setting[bool]{truth, d.mark(at), true}
				}
			}
		}
	}
	d.fail(at, "write true or false, without quotes", "%s must be true or false, not %s", d.field(), quoted(n.Value))
	return setting[bool]{at: d.mark(at)}
}

// integer takes plain decimal numbers only: what else YAML takes for a number
// means another one to somebody.
func (d *decoder) integer(at *yaml.Node, f *field) setting[uint32] {
	n, ok := d.scalar(at)
	if !ok {
		return setting[uint32]{at: d.mark(at)}
	}
	value := n.Value
	if n.Style&(quoteStyles|yaml.TaggedStyle) != 0 || !isDecimal(value) {
		d.fail(at, integerHint(n), "%s must be a plain whole number, not %s", f.name, quoted(value))
		return setting[uint32]{at: d.mark(at)}
	}
	number, err := strconv.ParseUint(value, 10, 64)
	if err != nil || number < f.least || number > f.most {
		d.fail(at, "", "%s is out of range: %d to %d", f.name, f.least, f.most)
		return setting[uint32]{at: d.mark(at)}
	}
	return setting[uint32]{uint32(number), d.mark(at), true}
}

// isDecimal tells whether s is digits without a leading zero.
func isDecimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// integerHint guesses what number is meant.
func integerHint(n *yaml.Node) string {
	s := strings.TrimSpace(n.Value)
	plain := strings.ReplaceAll(strings.TrimPrefix(s, "+"), "_", "")
	switch {
	case templateText(s):
		return renderHint
	case n.Style&quoteStyles != 0 && isDecimal(s):
		return "write it without quotes: " + s
	case isDecimal(plain):
		return "write " + plain
	case len(plain) > 40:
		return ""
	case strings.HasPrefix(plain, "0") && isDecimal(strings.TrimLeft(plain, "0")):
		hint := "leading zero; write " + strings.TrimLeft(plain, "0")
		if octal, err := strconv.ParseUint(plain, 8, 64); err == nil {
			hint += " or " + strconv.FormatUint(octal, 10)
		}
		return hint
	}
	if number, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return "write " + strconv.FormatUint(number, 10)
	}
	if number, err := strconv.ParseFloat(plain, 64); err == nil && number == math.Trunc(number) && number >= 0 && number <= math.MaxUint32 {
		whole, _ := big.NewFloat(number).Int(nil)
		return "write " + whole.String()
	}
	return ""
}

func (d *decoder) duration(at *yaml.Node) setting[time.Duration] {
	n, ok := d.scalar(at)
	if !ok {
		return setting[time.Duration]{at: d.mark(at)}
	}
	duration, err := time.ParseDuration(n.Value)
	if err != nil || n.Value == "0" {
		hint := "write a number and a unit, such as 500ms, 1s or 1m30s"
		if isDecimal(n.Value) {
			hint = "write " + n.Value + "s for seconds"
		}
		d.fail(at, hint, "%s must be a duration, not %s", d.field(), quoted(n.Value))
		return setting[time.Duration]{at: d.mark(at)}
	}
	if duration <= 0 || duration%time.Microsecond != 0 {
		d.fail(at, "", "%s must be whole microseconds, and longer than none", d.field())
		return setting[time.Duration]{at: d.mark(at)}
	}
	return setting[time.Duration]{duration, d.mark(at), true}
}

// enum takes one of a field's names.
func enum[T any](d *decoder, at *yaml.Node, f *field, parse func(string) (T, bool)) setting[T] {
	n, ok := d.scalar(at)
	if !ok {
		return setting[T]{at: d.mark(at)}
	}
	value, ok := parse(n.Value)
	if !ok {
		hint := didYouMean(n.Value, f.enum)
		if plural := strings.TrimSuffix(strings.ToLower(n.Value), "s"); hint == "" && plural != n.Value {
			hint = didYouMean(plural, f.enum)
		}
		if f.name == "unit" && hint == "" {
			hint = unitHint(n.Value)
		}
		d.fail(at, hint, "unknown %s %s: write %s", f.name, quoted(n.Value), oneOf(f.enum))
		return setting[T]{at: d.mark(at)}
	}
	return setting[T]{value, d.mark(at), true}
}

// unitHint guesses what an abbreviation or a duration means: min, 10s, 1h.
func unitHint(written string) string {
	written = strings.ToLower(written)
	short := strings.TrimLeft(written, "0123456789 ")
	number := strings.TrimSpace(written[:len(written)-len(short)])
	for _, name := range unitNames {
		long := name[:min(3, len(name))]
		if short != name[:1] && !strings.HasPrefix(short, long) || short == "m" && number == "" || len(short) > len(name)+1 {
			continue
		}
		if isDecimal(number) && number != "1" {
			return "write unit: " + name + " and unit_multiplier: " + number
		}
		return "write " + name
	}
	return ""
}
