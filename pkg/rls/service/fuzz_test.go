package service_test

import (
	"context"
	"strings"
	"testing"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// FuzzShouldRateLimit sends any bytes to a real server: each call gets an answer
// that protobuf can read, or is told that it is malformed.
func FuzzShouldRateLimit(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\x0a\x04shop\x12\x14\x0a\x0c\x0a\x04path\x12\x04/api\x1a\x02\x08\x03\x20\x01\x18\x02"))
	f.Add([]byte("\x0a\x02\xff\xfe\x12\x05\x0a\x03\x12\x01\x80"))
	f.Add([]byte("\x12\x06\x12\x04\x08\x01\x10\x63"))
	f.Add([]byte(strings.Repeat("\x12\x00", 5000)))
	f.Add([]byte(strings.Repeat("\x0b", 5000)))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0fd"))
	_, address := start(f, service.Options{StreamWorkers: 2, Decider: decide(echo)})
	conn := dial(f, address)
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := callRaw(within(t, patience), conn, service.ServiceMethod, data)
		if err != nil {
			if status.Code(err) != codes.InvalidArgument {
				t.Fatalf("error %v, want InvalidArgument", err)
			}
			return
		}
		var answer rlsv3.RateLimitResponse
		if err := proto.Unmarshal(reply, &answer); err != nil {
			t.Fatalf("the answer cannot be read: %v", err)
		}
		if answer.GetOverallCode() != rlsv3.RateLimitResponse_OK {
			t.Errorf("answer %v", &answer)
		}
	})
}

// echo answers OK, with all text of the request in headers and metadata.
func echo(_ context.Context, req *rls.Request, ans *rls.Answer) error {
	ans.Code = rls.OK
	ans.Metadata = map[string]any{"domain": req.Domain}
	for _, d := range req.Descriptors {
		ans.Statuses = append(ans.Statuses, rls.Status{Code: rls.OK, Remaining: d.Limit.RequestsPerUnit})
		for _, e := range d.Entries {
			ans.ResponseHeaders = append(ans.ResponseHeaders, rls.Header{Name: e.Key, Value: e.Value})
		}
	}
	return nil
}
