// Command http is a service with limits of its own: for each client, for each user who
// signs in with a header that the gateway has checked, and for all together.
//
//	go run ./examples/http                 # counts in this process
//	REDIS=127.0.0.1:6379 go run ./examples/http
package main
