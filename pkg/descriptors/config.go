package descriptors

import (
	"fmt"
	"math"
	"strings"
)

// Config is the rules of one domain as a source has them that needs no YAML: a
// control plane's message, say. It is compiled as a document of the same fields
// would be. It may say less than a document; what it leaves out comes from the
// documents of its domain that have defaults and no descriptors.
type Config struct {
	Domain string
	Rules  []ConfigRule
}

// ConfigRule is a descriptor of a Config.
type ConfigRule struct {
	Key            string
	Value          string // exact or a pattern, as in a file; "" = any
	Limit          *ConfigLimit
	Rules          []ConfigRule // for the next entry
	Shadow         bool
	Quota          bool
	DetailedMetric bool
	Metadata       map[string]any // as in Rule.Metadata; nil = none
}

// ConfigLimit is a rate_limit of a Config.
type ConfigLimit struct {
	Unit      Unit   // UnknownUnit = left out
	Amount    uint32 // 0 lets nothing pass; with Unlimited it is left out
	Unlimited bool
	Name      string // "" = none
	Replaces  []string
}

// configReader turns a Config into the model that files are decoded into.
type configReader struct {
	src      int32
	source   *source
	log      *report
	used     *budget
	document *document
	path     []string // of the rule in hand: key, or key=value
}

// readConfig reads a file that is decoded already.
func readConfig(file *File, used *budget, log *report) parsed {
	src := &source{name: file.Name}
	c := &configReader{src: log.source(src), source: src, log: log, used: used}
	from, before := len(log.list), log.errors
	doc := &document{at: c.mark(), listed: true, decoded: true}
	doc.domain = c.text(file.Config.Domain)
	c.document = doc
	switch {
	case file.Err != nil:
		c.fail("", "cannot read the resource: %s", file.Err)
	case !doc.domain.set:
		c.fail("", "domain is missing in this resource")
	default:
		doc.descriptors = c.rules(file.Config.Rules)
	}
	doc.errors = log.errors > before
	log.of(doc.domain.value, from)
	return parsed{documents: []*document{doc}, failed: !doc.domain.set}
}

// mark is the place of the rule in hand. There are no lines: the source keeps
// the path.
func (c *configReader) mark() mark {
	c.source.paths = append(c.source.paths, strings.Join(c.path, "/"))
	return mark{src: c.src, col: int32(len(c.source.paths))}
}

func (c *configReader) fail(hint, format string, args ...any) {
	c.log.error(c.mark(), "", fmt.Sprintf(format, args...), hint)
}

// text is a setting that an empty text leaves out.
func (c *configReader) text(s string) setting[string] {
	if len(s) > maxTextBytes {
		c.fail("", "a text is longer than %d bytes", maxTextBytes)
		return setting[string]{at: c.document.at}
	}
	if s == "" {
		return setting[string]{}
	}
	return setting[string]{s, c.mark(), true}
}

func (c *configReader) rules(written []ConfigRule) []*descriptor {
	if len(written) > 0 && len(c.path) >= maxLevels {
		c.fail("", "descriptors more than %d levels deep", maxLevels)
		return nil
	}
	var all []*descriptor
	for i := range written {
		if c.used.rules++; c.used.rules > maxRules {
			if c.used.rules == maxRules+1 {
				c.fail("", "more than %d rules", maxRules)
			}
			c.used.spent = true
			break
		}
		c.path = append(c.path, written[i].shown())
		if d := c.rule(&written[i]); d != nil {
			all = append(all, d)
		}
		c.path = c.path[:len(c.path)-1]
	}
	return all
}

func (r *ConfigRule) shown() string {
	if r.Value == "" {
		return r.Key
	}
	return r.Key + "=" + r.Value
}

func (c *configReader) rule(w *ConfigRule) *descriptor {
	d := &descriptor{at: c.mark(), document: c.document}
	d.key = c.text(w.Key)
	if !d.key.set {
		c.fail("", "key is missing in this descriptor")
		return nil
	}
	if value := c.text(w.Value); value.set {
		d.selects = true
		d.selector = textSelector([]setting[string]{value})
		d.selector.at = value.at
		c.used.patterns += len(d.selector.patterns)
		if c.used.patterns > maxAllPatterns {
			c.fail("", "more than %d patterns", maxAllPatterns)
			c.used.spent = true
		}
	}
	d.shadow, d.quota, d.detailed = c.flag(w.Shadow, d.at), c.flag(w.Quota, d.at), c.flag(w.DetailedMetric, d.at)
	d.metadata = c.metadata(w.Metadata, d.at)
	if w.Limit != nil {
		d.limited = d.at
		d.limits = []*limit{c.limit(w.Limit, d.at)}
	}
	d.children = c.rules(w.Rules)
	return d
}

// flag is a setting that false leaves out.
func (c *configReader) flag(is bool, at mark) setting[bool] {
	if !is {
		return setting[bool]{}
	}
	return setting[bool]{true, at, true}
}

func (c *configReader) limit(w *ConfigLimit, at mark) *limit {
	l := &limit{at: at, unlimited: c.flag(w.Unlimited, at), name: c.text(w.Name)}
	switch {
	case w.Unit.Micros() > 0:
		l.unit = setting[Unit]{w.Unit, at, true}
	case w.Unit != UnknownUnit:
		c.fail("", "unknown unit number %d", w.Unit)
		l.unit.at = at
	}
	if !w.Unlimited || w.Amount > 0 {
		l.amount = setting[uint32]{w.Amount, at, true}
	}
	for _, name := range w.Replaces {
		if name == "" {
			c.fail("", "a name to replace must not be empty")
			continue
		}
		l.replaces = append(l.replaces, setting[string]{name, at, true})
	}
	return l
}

// metadata holds metadata to the bounds of files.
func (c *configReader) metadata(m map[string]any, at mark) setting[map[string]any] {
	if m == nil {
		return setting[map[string]any]{}
	}
	left := maxMetadata
	problem := checkMetadata(m, 0, &left)
	if problem != "" {
		c.fail("", "%s", problem)
	}
	return setting[map[string]any]{m, at, problem == ""}
}

// checkMetadata says what is wrong with a value, "" if nothing.
func checkMetadata(value any, depth int, left *int) string {
	if *left--; *left < 0 {
		return fmt.Sprintf("metadata of more than %d values", maxMetadata)
	}
	if depth > maxNesting {
		return fmt.Sprintf("nested more than %d levels deep", maxNesting)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if problem := checkMetadata(item, depth+1, left); problem != "" {
				return problem
			}
		}
	case []any:
		for _, item := range v {
			if problem := checkMetadata(item, depth+1, left); problem != "" {
				return problem
			}
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "a number of the metadata is none that JSON knows"
		}
	}
	return ""
}
