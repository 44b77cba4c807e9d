// Package house holds no code: its tests keep the rules of the house, over the
// whole tree. Who may import whom, that every package says what it is, that each
// algorithm has its Lua twin and its traces, that documents name metrics,
// settings and folders that exist.
package house
