package descriptors

import (
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// metadata decodes a map of anything that JSON knows. Keys are texts: n is "n".
func (d *decoder) metadata(at *yaml.Node) setting[map[string]any] {
	if target(at).Kind != yaml.MappingNode {
		d.fail(at, "", "metadata must be a map, not %s", describe(target(at)))
		return setting[map[string]any]{at: d.mark(at)}
	}
	left := maxMetadata
	value, _ := d.anything(at, &left).(map[string]any)
	if left < 0 {
		d.fail(at, "", "metadata of more than %d values", maxMetadata)
		value = nil
	}
	return setting[map[string]any]{value, d.mark(at), value != nil}
}

func (d *decoder) anything(at *yaml.Node, left *int) any {
	if *left--; *left < 0 {
		return nil
	}
	n, ok := d.enter(at)
	if !ok {
		return nil
	}
	defer d.leave()
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any)
		for _, p := range d.pairs(n) {
			d.path = append(d.path, p.key.Value)
			m[p.key.Value] = d.anything(p.value, left)
			d.path = d.path[:len(d.path)-1]
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, min(len(n.Content), max(*left, 0)))
		for _, item := range n.Content {
			if *left < 0 {
				return nil
			}
			list = append(list, d.anything(item, left))
		}
		return list
	}
	return d.anyScalar(n)
}

func (d *decoder) anyScalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		var number float64
		if err := n.Decode(&number); err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
			d.fail(n, "", "%s is no number that JSON knows", quoted(n.Value))
		}
		if n.Tag == "!!int" && math.Abs(number) > 1<<53 {
			d.warn(n, "write it in quotes", "numbers beyond 2^53 lose their last digits")
		}
		return number
	case "!!str", "!!timestamp":
		if n.Style&quoteStyles == 0 && slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(n.Value)) {
			d.warn(n, "write true or false, or put it in quotes", "%s is a text here", n.Value)
		}
	default:
		d.fail(n, "leave the tag out", "the tag %s has no meaning here", n.Tag)
	}
	return n.Value
}
