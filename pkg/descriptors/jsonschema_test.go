package descriptors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// TestJSONSchema: the schema in the tree is what the language makes.
func TestJSONSchema(t *testing.T) {
	t.Parallel()
	golden(t, "schema.json", string(JSONSchema()))
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate holds the documents of a file to the schema, as an editor does. It
// is nil, too, where the file is no YAML that means something outside of YAML.
func validate(schema *jsonschema.Schema, data []byte) (err error, readable bool) {
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return nil, true
		case err != nil:
			return nil, false
		}
		if document == nil {
			continue
		}
		if err := schema.Validate(plain(document)); err != nil {
			return err, true
		}
	}
}

// plain is a value as JSON has it.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[fmt.Sprint(key)] = plain(v[key])
		}
		return out
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case fmt.Stringer: // a date
		return v.String()
	}
	return v
}

// TestSchemaAcceptsGoodFiles: every file that loads is valid.
func TestSchemaAcceptsGoodFiles(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, file := range ruleFiles(t, "ok") {
		if err, readable := validate(schema, file.Data); err != nil || !readable {
			t.Errorf("%s: %v, readable %t", file.Name, err, readable)
		}
	}
}

// TestSchemaAndBadFiles lists what an editor sees of each mistake. It never
// marks a file that loads.
func TestSchemaAndBadFiles(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	var seen, unseen, unread []string
	for _, file := range ruleFiles(t, "bad") {
		_, diagnostics := Compile([]File{file}, nil, Options{})
		broken, _, _ := Count(diagnostics)
		err, readable := validate(schema, file.Data)
		switch {
		case !readable:
			unread = append(unread, file.Name)
		case err != nil:
			seen = append(seen, file.Name)
			if broken == 0 {
				t.Errorf("%s loads, but the schema says: %v", file.Name, err)
			}
		case broken > 0:
			unseen = append(unseen, file.Name)
		}
	}
	golden(t, filepath.Join("testdata", "schema_bad.golden"), fmt.Sprintf(
		"An editor with the schema marks:\n%s\nIt does not see what is wrong in:\n%s\nNot even YAML:\n%s", lines(seen), lines(unseen), lines(unread)))
}

func lines(names []string) string {
	return "  " + strings.Join(names, "\n  ") + "\n"
}
