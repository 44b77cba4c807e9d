package main

import (
	"log/slog"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/internal/tracing"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

// trace adds tracing to o if the settings want it, and returns what ends it. It
// leaves o as it is if not: a call then costs nothing more.
func trace(o *service.Options, s settings.Tracing, log *slog.Logger) (end func(), err error) {
	if !s.Enabled {
		return func() {}, nil
	}
	tracer, err := tracing.New(tracing.Options{
		Endpoint:         s.Endpoint,
		GRPC:             s.Protocol == settings.ProtocolGRPC,
		ServiceName:      s.ServiceName,
		ServiceNamespace: s.ServiceNamespace,
		ServiceInstance:  s.ServiceInstance,
		ServiceVersion:   telemetry.ReadBuild(version).Version,
		SamplingRate:     s.SamplingRate,
		Method:           service.ServiceMethod,
		Logger:           log,
	})
	if err != nil {
		return nil, err
	}
	o.StatsHandler, o.Answered = tracer.StatsHandler(), tracer.Answered
	return tracer.Close, nil
}
