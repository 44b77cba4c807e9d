package descriptors

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// pair is a key and value of a map, in the file or merged in.
type pair struct{ key, value *yaml.Node }

// decodeMap decodes a map by the table of its level. It is false if there is no
// map, and lists the names that misspelt fields most likely mean.
func decodeMap[T any](d *decoder, at *yaml.Node, l *level[T], into *T) (meant []string, ok bool) {
	n, ok := d.enter(at)
	if !ok {
		return nil, false
	}
	defer d.leave()
	if n.Kind != yaml.MappingNode {
		d.fail(at, shape(l.name), "%s must be a map, not %s", d.field(), describe(n))
		return nil, false
	}
	pairs := d.pairs(n)
	has := func(name string) bool {
		return slices.Contains(meant, name) || slices.ContainsFunc(pairs, func(p pair) bool { return p.key.Value == name })
	}
	for _, p := range pairs {
		row := l.row(p.key.Value)
		switch {
		case d.stopped():
			return meant, true
		case row != nil:
			d.path = append(d.path, row.name)
			row.decode(d, into, p.value, &row.field)
			d.path = d.path[:len(d.path)-1]
		case !l.open || !strings.HasPrefix(p.key.Value, "x-"):
			if name := d.unknown(p.key, l.name, l.names, l.meant(p.key.Value)); name != "" {
				meant = append(meant, name)
			}
		}
	}
	for i := range l.rows {
		if f := &l.rows[i].field; f.required && !has(f.name) {
			d.fail(at, "", "%s is missing in this %s", f.name, l.name)
		}
	}
	return meant, true
}

// shape shows what a map of a level looks like.
func shape(level string) string {
	switch level {
	case levelDocument:
		return "write domain: and descriptors: at the beginning of lines"
	case levelDescriptor:
		return "write key: and what belongs to it"
	case levelLimit:
		return "write {unit: minute, requests_per_unit: 10}"
	case levelReplace:
		return "write {name: …}"
	}
	return ""
}

// pairs lists what a map holds: its own pairs, then those that << merges in and
// that it does not have itself.
func (d *decoder) pairs(n *yaml.Node) []pair {
	pairs := make([]pair, 0, len(n.Content)/2)
	seen := names{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := target(n.Content[i]), n.Content[i+1]
		if !d.spend(key) {
			return nil
		}
		switch first := seen.add(key); {
		case key.Kind != yaml.ScalarNode:
			d.fail(n.Content[i], "", "a field name is text, not %s", describe(key))
		case key.Tag == "!!merge":
			merges = append(merges, value)
		case first != nil:
			d.fail(n.Content[i], "", "%s is written twice: first at line %d", quoted(key.Value), first.Line)
		default:
			pairs = append(pairs, pair{key, value})
		}
	}
	for _, merge := range merges {
		for _, p := range d.merged(merge) {
			if seen.add(p.key) == nil {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// merged is what a << brings along: earlier maps win.
func (d *decoder) merged(n *yaml.Node) []pair {
	at := n
	n, ok := d.enter(n)
	if !ok {
		return nil
	}
	defer d.leave()
	switch n.Kind {
	case yaml.MappingNode:
		return d.pairs(n)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range n.Content {
			if target(item).Kind != yaml.MappingNode {
				d.fail(item, "", "<< takes maps, not %s", describe(target(item)))
				continue
			}
			all = append(all, d.merged(item)...)
		}
		return all
	}
	d.fail(at, "", "<< takes a map or a list of maps, not %s", describe(n))
	return nil
}

// names finds repeated keys: by looking for few, by a map for many.
type names struct {
	few  []*yaml.Node
	many map[string]*yaml.Node
}

// add returns the earlier node of the same name, if there is one.
func (s *names) add(key *yaml.Node) *yaml.Node {
	if s.many != nil {
		first := s.many[key.Value]
		if first == nil {
			s.many[key.Value] = key
		}
		return first
	}
	for _, n := range s.few {
		if n.Value == key.Value {
			return n
		}
	}
	if s.few = append(s.few, key); len(s.few) > 16 {
		s.many = make(map[string]*yaml.Node)
		for _, n := range s.few {
			s.many[n.Value] = n
		}
	}
	return nil
}

// unknown reports a field that its level does not have: one of another level is
// misplaced, another program's word translated, any other one misspelt. It
// returns what is most likely meant.
func (d *decoder) unknown(key *yaml.Node, level string, known []string, meant string) string {
	d.path = append(d.path, key.Value)
	defer func() { d.path = d.path[:len(d.path)-1] }()
	if right := d.rightPlace(key.Value, level); right != "" {
		d.fail(key, "did you mean "+right+"?", "%s does not belong in %s", key.Value, level)
		return ""
	}
	hint := didYouMean(key.Value, known)
	if meant != "" {
		hint = "here it is " + meant
	} else if hint == "" {
		hint = foreignWord(key.Value)
	}
	if hint == "" && len(known) > 1 {
		hint = "known are " + oneOf(known)
	}
	d.fail(key, hint, "unknown field %s in %s", quoted(key.Value), level)
	if meant != "" {
		return meant
	}
	return nearest(key.Value, known)
}

// rightPlace is the path at which a field would be right, or "".
func (d *decoder) rightPlace(name, level string) string {
	here := d.path[:len(d.path)-1]
	inDescriptor, inLimit := d.schema.descriptor.row(name) != nil, d.schema.limit.row(name) != nil
	switch {
	case level == levelLimit && inDescriptor:
		return joinPath(append(d.descriptorPath(), name))
	case level == levelDescriptor && inLimit:
		return joinPath(append(slices.Clone(here), "rate_limit", name))
	case level == levelDocument && d.schema.defaults.row(name) != nil:
		return "defaults." + name
	case level == levelDocument && (inDescriptor || inLimit):
		return "descriptors[0]." + name
	case level == levelDefaults && d.schema.document.row(name) != nil,
		level != levelDocument && d.schema.document.row(name) != nil:
		return name + " at the top level of the document"
	case level == levelDefaults && (inDescriptor || inLimit):
		return joinPath([]string{"descriptors", "[0]", "rate_limit", name})
	}
	return ""
}

// descriptorPath is the path of the descriptor around the limit in hand.
func (d *decoder) descriptorPath() []string {
	for i := len(d.path) - 1; i > 0; i-- {
		if d.path[i] == "rate_limit" || d.path[i] == "rate_limits" {
			return slices.Clone(d.path[:i])
		}
	}
	return nil
}

// quoted is a name from a file, cut to a length that can be read.
func quoted(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return `"` + name + `"`
}
