package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

// DecodeJSON resets req and reads a RateLimitRequest in proto3 JSON into it.
// Names of fields may be camelCase or snake_case; unknown ones are errors. The
// text of an error may quote the body: it is for the caller, not for logs.
func DecodeJSON(body []byte, req *rls.Request) error {
	req.Reset()
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New(`the body is empty: send a RateLimitRequest as JSON, such as {"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"/"}]}]}`)
	}
	var m rlsv3.RateLimitRequest
	if err := protojson.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("the body is not a RateLimitRequest in JSON: %s", plain(err))
	}
	data, err := proto.Marshal(&m)
	if err != nil {
		return fmt.Errorf("the body is not a RateLimitRequest: %s", plain(err))
	}
	return wire.DecodeRequest(data, req)
}

// AppendJSON appends ans to dst as a RateLimitResponse in proto3 JSON, without
// spaces between tokens.
func AppendJSON(dst []byte, ans *rls.Answer) ([]byte, error) {
	var m rlsv3.RateLimitResponse
	if err := proto.Unmarshal(wire.AppendAnswer(nil, ans), &m); err != nil {
		return dst, fmt.Errorf("read an encoded answer back: %w", err)
	}
	text, err := protojson.Marshal(&m)
	if err != nil {
		return dst, fmt.Errorf("write an answer as JSON: %w", err)
	}
	// protojson varies its spaces from build to build on purpose.
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, text); err != nil {
		return dst, fmt.Errorf("write an answer as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// plain is the text of an error of protobuf without its prefix, whose space
// varies from build to build on purpose.
func plain(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimPrefix(text, "proto: ")
}
