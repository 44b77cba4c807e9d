// Package descriptors is the rule language: it compiles rule files into an
// immutable [Ruleset] and finds the rule for a request's descriptor.
//
// # Compiling
//
// [Compile] decodes each document to YAML nodes, by one table of fields for each
// level, into a model of what is written; merges the documents of a domain, level
// by level; checks what they say together; and builds a tree of hash maps. Every
// problem of every file is reported at once, each with its place and a hint, as a
// [Diagnostic]. What is in error rejects no more than its domain, which keeps its
// last good rules. No file can make it crash, hang, or use much more than the
// file is worth: size, nesting, aliases, rules and patterns are bounded. A long
// list is parsed in pieces, side by side.
//
// The same table makes the JSON Schema for editors ([JSONSchema]) and the
// reference ([Language]).
//
// # Matching
//
// [Domain.Match] walks a descriptor's entries from left to right, one level of the
// tree for each. A level looks for the entry's key, and there for its value: the
// exact text first, then the most specific pattern, the longest prefix of a
// network, the regexes in their order, and last the key alone. What is found
// stays found, unless the document says match: fallback. The limits of a rule
// apply to a descriptor whose last entry reaches it.
//
// Exact and key-only rules cost two look-ups a level and allocate nothing.
// Neither the order of files nor that of rules has a meaning, but for the
// regexes of one list.
//
// # Sources
//
// A [Source] finds rule files and tells when they change; filesource looks into
// folders, xdssource asks a control plane. What needs no YAML comes as a [Config]
// and is compiled as a document is. A [Loader] compiles what a source finds over
// what is in force.
//
// The package knows YAML, and nothing of Envoy, of stores or of the clock.
package descriptors
