package xdssource

import (
	"fmt"

	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// typeURL is that of the resources.
const typeURL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"

// files makes a file of each resource. unnamed says that one of them is so broken
// that its name cannot be told.
func files(resources []*anypb.Any) (all []descriptors.File, unnamed bool) {
	for i, resource := range resources {
		file := decode(resource)
		if file.Name == "" {
			file.Name = fmt.Sprintf("resource %d", i+1)
			unnamed = true
		}
		all = append(all, file)
	}
	return all, unnamed
}

// decode makes a file of a resource. Of one that is in error it tells name and
// domain as far as possible; its name is "" if neither is there.
func decode(resource *anypb.Any) descriptors.File {
	if resource.GetTypeUrl() != typeURL {
		return descriptors.File{
			Config: &descriptors.Config{},
			Err:    fmt.Errorf("it is of type %q: want %s", resource.GetTypeUrl(), typeURL),
		}
	}
	file := descriptors.File{Data: resource.GetValue()}
	var message rlsconfig.RateLimitConfig
	if err := proto.Unmarshal(resource.GetValue(), &message); err != nil {
		message.Reset()
		file.Err = err
		message.Name, message.Domain = names(resource.GetValue())
	}
	file.Config = &descriptors.Config{Domain: message.Domain, Rules: rules(message.Descriptors)}
	if file.Name = message.Name; file.Name == "" {
		file.Name = message.Domain
	}
	return file
}

// names looks for name and domain in a message that is broken elsewhere.
func names(message []byte) (name, domain string) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			break
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			break
		}
		if text, m := protowire.ConsumeBytes(message); kind == protowire.BytesType && m >= 0 {
			switch number {
			case 1:
				name = string(text)
			case 2:
				domain = string(text)
			}
		}
		message = message[n:]
	}
	return name, domain
}

func rules(written []*rlsconfig.RateLimitDescriptor) []descriptors.ConfigRule {
	all := make([]descriptors.ConfigRule, 0, len(written))
	for _, d := range written {
		r := descriptors.ConfigRule{
			Key:            d.GetKey(),
			Value:          d.GetValue(),
			Rules:          rules(d.GetDescriptors()),
			Shadow:         d.GetShadowMode(),
			Quota:          d.GetQuotaMode(),
			DetailedMetric: d.GetDetailedMetric(),
		}
		if d.GetRateLimit() != nil {
			r.Limit = limit(d.GetRateLimit())
		}
		if d.GetMetadata() != nil {
			r.Metadata = d.GetMetadata().AsMap()
		}
		all = append(all, r)
	}
	return all
}

// limit relies on the numbers of units being the same in both messages; see
// TestUnits.
func limit(p *rlsconfig.RateLimitPolicy) *descriptors.ConfigLimit {
	l := &descriptors.ConfigLimit{
		Amount:    p.GetRequestsPerUnit(),
		Unlimited: p.GetUnlimited(),
		Name:      p.GetName(),
	}
	if unit := p.GetUnit(); unit >= 0 && unit <= 255 {
		l.Unit = descriptors.Unit(unit)
	} else {
		l.Unit = 255
	}
	for _, r := range p.GetReplaces() {
		l.Replaces = append(l.Replaces, r.GetName())
	}
	return l
}
