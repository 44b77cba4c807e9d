// Package admin is the server's HTTP side: decisions over JSON, health, metrics
// and the debug pages. It makes handlers and servers with their timeouts; it
// opens no port.
package admin
