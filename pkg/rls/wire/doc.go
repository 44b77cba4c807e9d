// Package wire turns Envoy's RateLimitRequest into a [rls.Request] and a
// [rls.Answer] into its RateLimitResponse, both of envoy.service.ratelimit.v3,
// in protobuf's binary form.
//
// It is written by hand for these two messages, without reflection, for two
// reasons. Protobuf for Go refuses a message with a string that is not UTF-8,
// and Envoy, which forwards header bytes as they are, then lets the request
// through unlimited; here strings are bytes. And a decision costs little, so
// that the garbage of the generated messages would be most of a call's.
//
// In all else a request is read as protobuf reads it: unknown fields and known
// ones of another wire type are skipped, the last of several scalars counts,
// several occurrences of one sub-message merge. The tests hold the package to
// protobuf's own verdict on any bytes.
//
// What is written is always text that Envoy's parser takes: strings are made
// valid UTF-8, and metadata is never nested deeper than that parser follows.
//
// Field numbers stand in comments beside the tags; adding a field that Envoy
// adds means one more case in decode.go or one more line in encode.go.
package wire
