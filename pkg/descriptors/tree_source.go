package descriptors

// Source is the text that a node of one line stands for, by its first byte and
// the one after it; false for what is not a single value in one line.
func (t *Tree) Source(n *Node) (from, to int, ok bool) {
	line := t.src.text(int(n.at.line))
	if n.Kind != TextNode || n.at.length == 0 || line == nil {
		return 0, 0, false
	}
	begin := t.src.lines[n.at.line-1]
	runes := []rune(string(line))
	start := int(n.at.col) - 1
	if start < 0 || start > len(runes) {
		return 0, 0, false
	}
	end := start + int(n.at.length)
	if !n.Plain {
		end = endOfQuotes(runes, start)
	}
	if end < 0 || end > len(runes) {
		return 0, 0, false
	}
	from = begin + len(string(runes[:start]))
	return from, begin + len(string(runes[:end])), true
}

// endOfQuotes is the column after a text in quotes, -1 if it ends elsewhere.
func endOfQuotes(line []rune, start int) int {
	if start >= len(line) || line[start] != '"' && line[start] != '\'' {
		return -1
	}
	quote := line[start]
	for i := start + 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return -1
}
