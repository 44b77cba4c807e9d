// Package page serves the page of the debug port: plain files, embedded, that ask
// the admin API and nobody else.
package page
