// Package settings reads what an operator says in flags and in the environment.
//
// One table ([Rows]) is the source of everything about a setting: its names,
// its default, its help, how its text is read, whether it is a secret. Flags,
// environment, `run --help`, the log of effective settings and the reference
// documentation are all made from it.
//
// A flag beats the environment, the environment beats the default. An empty
// environment variable counts as unset. Names are those of envoyproxy/ratelimit
// where it has one; what it has and cannot apply here is accepted, warned of,
// and does nothing.
//
// The package opens nothing and connects to nothing.
package settings
