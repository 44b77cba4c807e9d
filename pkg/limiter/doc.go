// Package limiter is the rate limiter as a library: the rules, algorithms and stores
// of the server, for programs that limit by themselves. [Open] makes a [Limiter] on
// memory, or on a Redis that several processes share; [Limiter.Decide] asks it;
// [Middleware] puts it before a [net/http.Handler].
package limiter
