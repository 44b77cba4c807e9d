package descriptors

// Keys lists, sorted, which keys rules have where the most specific way of a
// descriptor ends: those that could have come next.
func (d *Domain) Keys(entries []Entry) []string {
	n := d.root
	for depth := range entries {
		level := n.keys[entries[depth].Key]
		if level == nil {
			break
		}
		c := candidates{level: level, value: entries[depth].Value}
		next := c.next()
		if next == nil {
			break
		}
		n = next
	}
	return sortedKeys(n.keys)
}
