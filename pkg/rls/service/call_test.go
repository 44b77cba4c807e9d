package service_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

func TestShouldRateLimit(t *testing.T) {
	t.Parallel()
	got := make(chan rls.Request, 1)
	_, address := start(t, service.Options{StreamWorkers: 2, Decider: decide(
		func(_ context.Context, req *rls.Request, ans *rls.Answer) error {
			got <- rls.Request{Domain: req.Domain, HitsAddend: req.HitsAddend, Descriptors: []rls.Descriptor{
				{Entries: []descriptors.Entry{req.Descriptors[0].Entries[0]}, HasHits: req.Descriptors[0].HasHits, Hits: req.Descriptors[0].Hits},
			}}
			ans.Code = rls.OverLimit
			ans.Statuses = append(ans.Statuses, rls.Status{
				Code: rls.OverLimit, HasReset: true, ResetSeconds: 9,
				Limit: &descriptors.Limit{Amount: 60, Unit: descriptors.Minute, Multiplier: 1, WireName: "per-path"},
			})
			ans.ResponseHeaders = append(ans.ResponseHeaders, rls.Header{Name: "retry-after", Value: "9"})
			return nil
		})})
	answer, err := call(t, dial(t, address), &rlsv3.RateLimitRequest{
		Domain: "shop", HitsAddend: 2,
		Descriptors: []*ratelimitv3.RateLimitDescriptor{{
			Entries:    []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "path", Value: "/api"}},
			HitsAddend: wrapperspb.UInt64(5),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRequest := rls.Request{Domain: "shop", HitsAddend: 2, Descriptors: []rls.Descriptor{
		{Entries: []descriptors.Entry{{Key: "path", Value: "/api"}}, HasHits: true, Hits: 5}}}
	if diff := cmp.Diff(wantRequest, <-got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	want := &rlsv3.RateLimitResponse{
		OverallCode: rlsv3.RateLimitResponse_OVER_LIMIT,
		Statuses: []*rlsv3.RateLimitResponse_DescriptorStatus{{
			Code:               rlsv3.RateLimitResponse_OVER_LIMIT,
			CurrentLimit:       &rlsv3.RateLimitResponse_RateLimit{Name: "per-path", RequestsPerUnit: 60, Unit: rlsv3.RateLimitResponse_RateLimit_MINUTE},
			DurationUntilReset: durationpb.New(9 * time.Second),
		}},
		ResponseHeadersToAdd: []*corev3.HeaderValue{{Key: "retry-after", Value: "9"}},
	}
	if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// FAULTS K2: bytes that are not UTF-8 must not get past the limits.
func TestInvalidUTF8IsDecided(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	_, address := start(t, service.Options{Decider: decide(
		func(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
			got <- req.Descriptors[0].Entries[0].Value
			return allow(ctx, req, ans)
		})})
	const value = "b\xff\xfe"
	data := []byte("\x0a\x01d\x12\x0a\x0a\x08\x0a\x01k\x12\x03" + value)
	if _, err := callRaw(within(t, patience), dial(t, address), service.ServiceMethod, data); err != nil {
		t.Fatal(err)
	}
	if v := <-got; v != value {
		t.Errorf("Decide saw the value %q, want %q", v, value)
	}
}

func TestErrorsOfDecide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		code codes.Code
		text string // part of it
		log  bool
	}{
		{"invalid", &rls.Error{Kind: rls.Invalid, Text: "no domain"}, codes.InvalidArgument, "no domain", false},
		{"unavailable", &rls.Error{Kind: rls.Unavailable, Text: "no store", Err: errors.New("secret")}, codes.Unavailable, "no store", false},
		{"wrapped", fmt.Errorf("secret: %w", &rls.Error{Kind: rls.Unavailable, Text: "no rules"}), codes.Unavailable, "no rules", false},
		{"unavailable since the time was up", &rls.Error{Kind: rls.Unavailable, Text: "too slow", Err: context.DeadlineExceeded}, codes.Unavailable, "too slow", false},
		{"deadline", fmt.Errorf("secret: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "deadline", false},
		{"canceled", fmt.Errorf("secret: %w", context.Canceled), codes.Canceled, "went away", false},
		{"a status is any other", status.Error(codes.NotFound, "secret"), codes.Internal, "internal error", true},
		{"any other", errors.New("secret"), codes.Internal, "internal error", true},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var logged lines
			var seen notes
			_, address := start(t, service.Options{Observer: &seen, Logger: logged.logger(),
				Decider: decide(func(context.Context, *rls.Request, *rls.Answer) error { return c.err })})
			_, err := call(t, dial(t, address), &rlsv3.RateLimitRequest{})
			if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %s with %q", err, c.code, c.text)
			}
			if got := logged.String() != ""; got != c.log {
				t.Errorf("logged %q", logged.String())
			}
			if diff := cmp.Diff([]string{service.ServiceMethod + " " + c.code.String()}, seen.calls); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
		})
	}
}

// A message that is not one is the caller's fault, and is counted as such.
func TestMalformedRequest(t *testing.T) {
	t.Parallel()
	var seen notes
	_, address := start(t, service.Options{Observer: &seen, Decider: decide(allow)})
	_, err := callRaw(within(t, patience), dial(t, address), service.ServiceMethod, []byte("\x0a\x7fsecret"))
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{service.ServiceMethod + " InvalidArgument"}, seen.calls); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func TestTooLargeRequest(t *testing.T) {
	t.Parallel()
	_, address := start(t, service.Options{MaxRequestBytes: 1000, Decider: decide(allow)})
	conn := dial(t, address)
	if _, err := call(t, conn, &rlsv3.RateLimitRequest{Domain: strings.Repeat("d", 1001)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("error %v, want ResourceExhausted", err)
	}
	if _, err := call(t, conn, &rlsv3.RateLimitRequest{Domain: strings.Repeat("d", 900)}); err != nil {
		t.Errorf("a smaller one: %v", err)
	}
}

// FAULTS K15: a panic costs its call, not the process, and not the log.
func TestK15PanicInDecide(t *testing.T) {
	t.Parallel()
	var logged lines
	var seen notes
	_, address := start(t, service.Options{Observer: &seen, Logger: logged.logger(), Decider: decide(
		func(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
			if req.Domain == "panic" {
				panic("planted")
			}
			return allow(ctx, req, ans)
		})})
	conn := dial(t, address)
	const n = 20
	begin := time.Now()
	for range n {
		_, err := call(t, conn, &rlsv3.RateLimitRequest{Domain: "panic"})
		if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "planted") {
			t.Fatalf("error %v, want a bland Internal", err)
		}
	}
	mayLog := 1 + int(time.Since(begin)/time.Second)
	if _, err := call(t, conn, &rlsv3.RateLimitRequest{}); err != nil {
		t.Errorf("the call after the panics: %v", err)
	}
	if seen.panics != n || seen.calls[0] != service.ServiceMethod+" Internal" {
		t.Errorf("observed %d panics, want %d; first call %s", seen.panics, n, seen.calls[0])
	}
	text := logged.String()
	if got := strings.Count(text, "planted"); got < 1 || got > mayLog {
		t.Errorf("%d lines in the log, want at least 1 and at most %d:\n%s", got, mayLog, text)
	}
	if !strings.Contains(text, "TestK15PanicInDecide") {
		t.Errorf("the log has no stack that shows where:\n%s", text)
	}
}

func TestDeadlineReachesDecide(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	_, address := start(t, service.Options{Decider: decide(
		func(ctx context.Context, _ *rls.Request, _ *rls.Answer) error {
			if _, ok := ctx.Deadline(); !ok {
				seen <- errors.New("no deadline")
				return nil
			}
			<-ctx.Done()
			seen <- ctx.Err()
			return ctx.Err()
		})})
	_, err := rlsv3.NewRateLimitServiceClient(dial(t, address)).ShouldRateLimit(within(t, 500*time.Millisecond), &rlsv3.RateLimitRequest{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
	// The client's reset may arrive before the server's own timer fires.
	if err := <-seen; !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.Errorf("Decide saw %v", err)
	}
}

// Requests and answers are pooled: nothing of one call may show in another.
func TestConcurrentCallsDoNotMix(t *testing.T) {
	t.Parallel()
	_, address := start(t, service.Options{StreamWorkers: 4, Decider: decide(
		func(_ context.Context, req *rls.Request, ans *rls.Answer) error {
			if len(ans.Statuses) != 0 || len(ans.ResponseHeaders) != 0 || ans.Code != 0 || ans.Metadata != nil {
				return errors.New("the answer is not empty")
			}
			ans.Code = rls.OK
			ans.ResponseHeaders = append(ans.ResponseHeaders, rls.Header{Name: "domain", Value: req.Domain})
			for _, d := range req.Descriptors {
				runtime.Gosched() // let another call in between
				for _, e := range d.Entries {
					ans.ResponseHeaders = append(ans.ResponseHeaders, rls.Header{Name: e.Key, Value: e.Value})
				}
			}
			return nil
		})})
	conn := dial(t, address)
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for i := range 50 {
				req, want := echoed(fmt.Sprintf("%d/%d", caller, i), (caller+i)%5)
				answer, err := call(t, conn, req)
				if err != nil {
					t.Error(err)
					return
				}
				if diff := cmp.Diff(want, answer, protocmp.Transform()); diff != "" {
					t.Errorf("caller %d, call %d (-want +got):\n%s", caller, i, diff)
				}
			}
		})
	}
	callers.Wait()
}

// echoed is a request with n descriptors and the answer that repeats them.
func echoed(domain string, n int) (*rlsv3.RateLimitRequest, *rlsv3.RateLimitResponse) {
	req := &rlsv3.RateLimitRequest{Domain: domain}
	answer := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	add := func(key, value string) {
		answer.ResponseHeadersToAdd = append(answer.ResponseHeadersToAdd, &corev3.HeaderValue{Key: key, Value: value})
	}
	add("domain", domain)
	for i := range n {
		var d ratelimitv3.RateLimitDescriptor
		for j := range i + 1 {
			key, value := fmt.Sprint("key", j), strings.Repeat(domain, 1+100*j)
			d.Entries = append(d.Entries, &ratelimitv3.RateLimitDescriptor_Entry{Key: key, Value: value})
			add(key, value)
		}
		req.Descriptors = append(req.Descriptors, &d)
	}
	return req, answer
}
