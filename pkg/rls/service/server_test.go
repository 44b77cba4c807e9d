package service_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	s, address := start(t, service.Options{Decider: decide(allow)})
	client := healthv1.NewHealthClient(dial(t, address))
	check := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for _, name := range []string{"", "ratelimit", service.ServiceName} {
			got, err := client.Check(within(t, patience), &healthv1.HealthCheckRequest{Service: name})
			if err != nil || got.GetStatus() != want {
				t.Errorf("health of %q: %v, error %v; want %v", name, got.GetStatus(), err, want)
			}
		}
	}
	check(healthv1.HealthCheckResponse_NOT_SERVING) // until told otherwise
	s.SetServing(true)
	check(healthv1.HealthCheckResponse_SERVING)
	s.SetServing(false)
	check(healthv1.HealthCheckResponse_NOT_SERVING)
	if _, err := client.Check(within(t, patience), &healthv1.HealthCheckRequest{Service: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("health of an unknown service: error %v, want NotFound", err)
	}
}

// asker is a reflection client of either version.
type asker struct {
	list func() []string
	file func(symbol string) [][]byte
}

func TestReflection(t *testing.T) {
	t.Parallel()
	_, address := start(t, service.Options{Decider: decide(allow)})
	conn := dial(t, address)
	for version, ask := range map[string]asker{"v1": askV1(t, conn), "v1alpha": askV1Alpha(t, conn)} {
		names := ask.list()
		for _, want := range []string{service.ServiceName, "grpc.health.v1.Health"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s lists %v, without %s", version, names, want)
			}
		}
		var messages []string
		for _, data := range ask.file(service.ServiceName) {
			var file descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(data, &file); err != nil {
				t.Fatal(err)
			}
			for _, m := range file.GetMessageType() {
				messages = append(messages, m.GetName())
			}
		}
		if !slices.Contains(messages, "RateLimitRequest") || !slices.Contains(messages, "RateLimitDescriptor") {
			t.Errorf("%s describes the service with messages %v only", version, messages)
		}
	}
}

func askV1(t *testing.T, conn *grpc.ClientConn) asker {
	ask := func(r *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	return asker{
		list: func() (names []string) {
			r := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
			for _, s := range ask(r).GetListServicesResponse().GetService() {
				names = append(names, s.GetName())
			}
			return names
		},
		file: func(symbol string) [][]byte {
			r := &reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}}
			return ask(r).GetFileDescriptorResponse().GetFileDescriptorProto()
		},
	}
}

func askV1Alpha(t *testing.T, conn *grpc.ClientConn) asker {
	ask := func(r *reflectionv1alpha.ServerReflectionRequest) *reflectionv1alpha.ServerReflectionResponse {
		stream, err := reflectionv1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(within(t, patience))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	return asker{
		list: func() (names []string) {
			r := &reflectionv1alpha.ServerReflectionRequest{MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{}}
			for _, s := range ask(r).GetListServicesResponse().GetService() {
				names = append(names, s.GetName())
			}
			return names
		},
		file: func(symbol string) [][]byte {
			r := &reflectionv1alpha.ServerReflectionRequest{
				MessageRequest: &reflectionv1alpha.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}}
			return ask(r).GetFileDescriptorResponse().GetFileDescriptorProto()
		},
	}
}

// FAULTS S13: a filter that speaks version 2 is told what to change.
func TestS13OldVersions(t *testing.T) {
	t.Parallel()
	var logged lines
	var seen notes
	_, address := start(t, service.Options{Observer: &seen, Logger: logged.logger(), Decider: decide(allow)})
	conn := dial(t, address)
	const v2, lyft = "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit", "/pb.lyft.ratelimit.RateLimitService/ShouldRateLimit"
	for _, method := range []string{v2, lyft, v2} {
		_, err := callRaw(within(t, patience), conn, method, []byte("\x0a\x01d"))
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "transport_api_version: V3") {
			t.Errorf("%s: error %v", method, err)
		}
	}
	if got := strings.Count(logged.String(), "transport_api_version"); got != 1 {
		t.Errorf("%d lines in the log, want 1 in a minute:\n%s", got, logged.String())
	}
	for _, method := range []string{"/envoy.service.ratelimit.v3.RateLimitService/Other", "/other.Service/Method"} {
		_, err := callRaw(within(t, patience), conn, method, nil)
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "unknown method "+method) {
			t.Errorf("%s: error %v", method, err)
		}
	}
	want := []string{v2 + " Unimplemented", lyft + " Unimplemented", v2 + " Unimplemented", " Unimplemented", " Unimplemented"}
	if diff := cmp.Diff(want, seen.calls); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

// TLS without ALPN is what Envoy speaks unless its cluster says alpn_protocols.
// Whoever does not get in is told of in the log, once a minute.
func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	var logged lines
	_, address := start(t, service.Options{
		Decider: decide(allow),
		Logger:  logged.logger(),
		TLS:     &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}},
	})
	silent, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatalf("without ALPN: %v", err)
	}
	defer silent.Close()
	if _, err := silent.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		t.Fatal(err)
	}
	silent.SetReadDeadline(time.Now().Add(patience))
	// Identifier 3 of SETTINGS is MAX_CONCURRENT_STREAMS (RFC 9113, 6.5.2).
	if settings := readSettings(silent); !bytes.Contains(settings, []byte{0, 3, 0, 0, 0x40, 0}) {
		t.Errorf("without ALPN the server answers with settings % x, want 16384 streams among them", settings)
	}
	secure := dial(t, address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})))
	if _, err := call(t, secure, &rlsv3.RateLimitRequest{}); err != nil {
		t.Errorf("over TLS: %v", err)
	}
	for range 2 {
		if _, err := call(t, dial(t, address), &rlsv3.RateLimitRequest{}); status.Code(err) != codes.Unavailable {
			t.Errorf("in plain text: error %v, want Unavailable", err)
		}
	}
	if got := logged.String(); strings.Count(got, "a TLS handshake failed") != 1 || !strings.Contains(got, "a client speaks plain text to a port with TLS") {
		t.Errorf("logged %s", got)
	}
}

// readSettings reads the next frame of HTTP/2, if it is SETTINGS.
func readSettings(conn net.Conn) []byte {
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		return nil
	}
	payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, _ = io.ReadFull(conn, payload) // what has come is looked at
	return payload
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// FAULTS S6: connections are renewed, and no call is lost by it.
func TestS6ConnectionAge(t *testing.T) {
	t.Parallel()
	accepted := make(chan struct{}, 100)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := service.NewServer(service.Options{
		Decider: decide(allow), MaxConnectionAge: 50 * time.Millisecond, MaxConnectionAgeGrace: patience,
	})
	served := make(chan error, 1)
	go func() { served <- s.Serve(counting{listener, accepted}) }()
	conn := dial(t, listener.Addr().String())
	for begin := time.Now(); len(accepted) < 3 && time.Since(begin) < patience; {
		if _, err := call(t, conn, &rlsv3.RateLimitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(accepted); n < 3 {
		t.Errorf("%d connections, want a new one every 50 ms or so", n)
	}
	if err := s.Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// counting is a listener that tells of each connection.
type counting struct {
	net.Listener
	accepted chan<- struct{}
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted <- struct{}{}
	}
	return conn, err
}

func TestServeReportsAListenerThatFails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	s := service.NewServer(service.Options{Decider: decide(allow)})
	if err := s.Serve(listener); err == nil || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("error %v, want one that names the address", err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
