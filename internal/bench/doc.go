// Package bench measures rate limit servers: ours or any other that serves
// Envoy's rate limit service in plain text.
//
// It speaks HTTP/2 itself, frame by frame, because a gRPC client takes more of
// the machine than the server under test. A closed loop keeps a number of calls
// outstanding. An open loop sends on a schedule whatever the server does, and
// counts latency from the scheduled time, so that a server that stalls cannot
// hide it.
//
// Compare CPU, not calls a second: where the server shares the machine with this
// client, the rate tells as much about the client.
package bench
