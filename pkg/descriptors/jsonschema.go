package descriptors

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// object is a JSON object of the schema.
type object = map[string]any

// JSONSchema is the rule language as a JSON Schema (draft-07) for editors, made
// from the table of fields. It knows names, places and kinds of values. What
// takes more than that, such as which fields an algorithm has, is left to
// [Compile]; what the schema rejects, Compile rejects, too.
func JSONSchema() []byte {
	s := newSchema()
	document := s.document.schema()
	document["$schema"] = "http://json-schema.org/draft-07/schema#"
	document["title"] = "Rules of envoy-rls"
	document["patternProperties"] = object{"^x-": true}
	descriptor := s.descriptor.schema()
	descriptor["allOf"] = append(atMostOne("value", "values", "cidr", "regex"), atMostOne("rate_limit", "rate_limits")...)
	limit := s.limit.schema()
	limit["if"] = object{"required": []string{"unlimited"}, "properties": object{"unlimited": yes()}}
	limit["then"] = object{"propertyNames": object{"enum": []string{"unlimited", "name", "replaces"}}}
	limit["else"] = object{"required": []string{"unit", "requests_per_unit"}}
	document["definitions"] = object{
		levelDefaults:   s.defaults.schema(),
		levelDescriptor: descriptor,
		levelLimit:      limit,
		levelReplace:    s.replace.schema(),
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil { // maps of texts: it cannot fail
		return nil
	}
	return out.Bytes()
}

// schema is the schema of the maps of a level.
func (l *level[T]) schema() object {
	properties, required := object{}, []string{}
	for i := range l.rows {
		f := &l.rows[i].field
		properties[f.name] = f.schema()
		if f.required {
			required = append(required, f.name)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// schema is the schema of a field's values. Texts may be written without
// quotes, and are taken for numbers by YAML then.
func (f *field) schema() object {
	o := object{}
	switch f.kind {
	case kindText: // names: never empty
		o = text()
		o["minLength"] = 1
	case kindPattern, kindRegex:
		o = text()
	case kindDuration:
		o = object{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(us|µs|ms|s|m|h))+$`}
	case kindTexts:
		o = object{"type": "array", "items": text(), "minItems": 1}
	case kindCIDRs:
		o["anyOf"] = []object{text(), {"type": "array", "items": text(), "minItems": 1}}
	case kindInteger:
		o = object{"type": "integer", "minimum": f.least, "maximum": f.most}
	case kindBool:
		o["anyOf"] = []object{{"type": "boolean"}, yes(), no()}
	case kindEnum:
		o = f.words()
	case kindMap:
		o["type"] = "object"
	case kindLevel:
		o["allOf"] = []object{reference(f.level)}
	case kindList:
		o = object{"type": "array", "items": reference(f.level)}
		if f.level == levelDescriptor {
			o["type"] = []string{"array", "null"} // as a file has it while it is written
		}
		if f.level == levelLimit {
			o["minItems"], o["maxItems"] = 1, maxLimits
		}
	}
	o["description"] = f.describe()
	return o
}

// describe is the text that an editor shows.
func (f *field) describe() string {
	text := markdownLink.ReplaceAllString(strings.ReplaceAll(f.doc, "`", ""), "$1")
	if f.fallback != "" && f.fallback != "required" {
		text += " Default: " + strings.ReplaceAll(f.fallback, "`", "") + "."
	}
	return text
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// words is the schema of one of a field's words. A unit may be in any case:
// those in lower case are what an editor offers.
func (f *field) words() object {
	if f.name != "unit" {
		return object{"enum": f.enum}
	}
	return object{"anyOf": []object{{"enum": f.enum}, {"type": "string", "pattern": "^(" + strings.Join(anyCase(f.enum), "|") + ")$"}}}
}

// anyCase makes expressions that match words in any case.
func anyCase(words []string) []string {
	var all []string
	for _, word := range words {
		var b strings.Builder
		for _, r := range word {
			b.WriteString("[" + strings.ToUpper(string(r)) + string(r) + "]")
		}
		all = append(all, b.String())
	}
	return all
}

func text() object { return object{"type": []string{"string", "number", "boolean"}} }

// yes and no are what stands for true and false. Those in quotes do not, but a
// schema cannot tell.
func yes() object { return truth(true) }
func no() object  { return truth(false) }

func truth(value bool) object {
	words := []any{value}
	for _, word := range truths[value][1:] {
		words = append(words, word, strings.ToUpper(word))
		if len(word) > 1 {
			words = append(words, strings.ToUpper(word[:1])+word[1:])
		}
	}
	return object{"enum": words}
}

func reference(level string) object { return object{"$ref": "#/definitions/" + level} }

// atMostOne forbids every pair of fields.
func atMostOne(names ...string) []object {
	var all []object
	for i, a := range names {
		for _, b := range names[i+1:] {
			all = append(all, object{"not": object{"required": []string{a, b}}})
		}
	}
	return all
}
