package main

import (
	"crypto/tls"
	"log/slog"
	"net"

	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/internal/servertls"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// openCertificates reads the certificates that listeners need, and gives them to
// the gRPC server. It returns nil if no listener speaks TLS.
func openCertificates(s settings.ServerTLS, serving *service.Options, log *slog.Logger) (*servertls.Certificates, error) {
	if !s.GRPC && !s.HTTP {
		return nil, nil
	}
	certificates, err := servertls.Open(servertls.Files{
		CertFile: s.CertFile, KeyFile: s.KeyFile, ClientCAFile: s.ClientCAFile, ClientSAN: s.ClientSAN,
	}, log)
	if err != nil {
		return nil, &settings.UsageError{Text: err.Error(), Hint: "see GRPC_SERVER_TLS_CERT, GRPC_SERVER_TLS_KEY and GRPC_CLIENT_TLS_CACERT; the server must be able to read their files"}
	}
	if s.GRPC {
		serving.TLS = certificates.GRPC()
	}
	return certificates, nil
}

// secure puts TLS before what serves HTTP, on the ports that are to have it, and
// returns what keeps the certificates up to date. Without certificates there is
// nothing to do.
func secure(ports []lifecycle.Port, certificates *servertls.Certificates) []lifecycle.Task {
	if certificates == nil {
		return nil
	}
	config := certificates.HTTP()
	for i := range ports {
		p := &ports[i]
		if p.Protocol == lifecycle.HTTP && p.TLS {
			serve := p.Serve
			p.Serve = func(l net.Listener) error { return serve(tls.NewListener(l, config)) }
		}
	}
	return []lifecycle.Task{{Name: "TLS certificates", Run: certificates.Watch}}
}
