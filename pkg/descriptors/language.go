package descriptors

// Level is one kind of map of the rule language, for what is made from the
// language: the schema for editors and the reference.
type Level struct {
	Name   string
	Fields []Field
}

// Field is a field of a level.
type Field struct {
	Name     string
	Doc      string // may hold Markdown
	Default  string // what it is if left out; "" if there is nothing to say
	Required bool
	Values   []string // the words that it takes; nil if others, too
}

// Language lists the levels of the rule language, the document first.
func Language() []Level {
	s := newSchema()
	return []Level{
		describeLevel(s.document),
		describeLevel(s.defaults),
		describeLevel(s.descriptor),
		describeLevel(s.limit),
		describeLevel(s.replace),
	}
}

func describeLevel[T any](l *level[T]) Level {
	out := Level{Name: l.name}
	for i := range l.rows {
		f := &l.rows[i].field
		out.Fields = append(out.Fields, Field{Name: f.name, Doc: f.doc, Default: f.fallback, Required: f.required, Values: f.enum})
	}
	return out
}
