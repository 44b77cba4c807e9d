// Package page drives the page of the debug port in a real Chromium. It is a module of
// its own: what it needs is nobody's dependency.
package page
