package wire_test

import (
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// oracle reads a RateLimitRequest with protobuf's own decoder, but from a
// schema in which every string is bytes: so it tells what protobuf would do if
// it did not insist on UTF-8.
type oracle struct {
	message protoreflect.MessageDescriptor
}

func newOracle(tb testing.TB) oracle {
	tb.Helper()
	const pkg = "tolerant"
	schema := &descriptorpb.FileDescriptorProto{
		Name:       proto.String("tolerant.proto"),
		Package:    proto.String(pkg),
		Syntax:     proto.String("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
	}
	for _, m := range []proto.Message{&rlsv3.RateLimitRequest{}, &ratelimitv3.RateLimitDescriptor{}} {
		d := protodesc.ToDescriptorProto(m.ProtoReflect().Descriptor())
		tolerate(d, "."+pkg)
		schema.MessageType = append(schema.MessageType, d)
	}
	file, err := protodesc.NewFile(schema, protoregistry.GlobalFiles)
	if err != nil {
		tb.Fatal(err)
	}
	return oracle{file.Messages().ByName("RateLimitRequest")}
}

// tolerate makes bytes of strings and plain numbers of enums, drops what needs
// further imports, and lets references point into the new package.
func tolerate(d *descriptorpb.DescriptorProto, pkg string) {
	d.Options = nil
	for _, f := range d.Field {
		f.Options = nil
		switch {
		case f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_STRING:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		case f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_ENUM:
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(), nil
		case f.GetName() == "descriptors":
			f.TypeName = proto.String(pkg + ".RateLimitDescriptor")
		case f.GetName() == "entries", f.GetName() == "limit":
			local := map[string]string{"entries": ".Entry", "limit": ".RateLimitOverride"}[f.GetName()]
			f.TypeName = proto.String(pkg + ".RateLimitDescriptor" + local)
		}
	}
	for _, nested := range d.NestedType {
		tolerate(nested, pkg)
	}
}

// decode is what DecodeRequest has to do.
func (o oracle) decode(data []byte) (rls.Request, error) {
	m := dynamicpb.NewMessage(o.message)
	if err := proto.Unmarshal(data, m); err != nil {
		return rls.Request{}, err
	}
	req := rls.Request{
		Domain:     string(get(m, "domain").Bytes()),
		HitsAddend: uint32(get(m, "hits_addend").Uint()),
	}
	list := get(m, "descriptors").List()
	for i := range list.Len() {
		req.Descriptors = append(req.Descriptors, descriptorOf(list.Get(i).Message()))
	}
	return req, nil
}

func descriptorOf(m protoreflect.Message) rls.Descriptor {
	d := rls.Descriptor{IsNegative: get(m, "is_negative_hits").Bool()}
	list := get(m, "entries").List()
	for i := range list.Len() {
		e := list.Get(i).Message()
		d.Entries = append(d.Entries, descriptors.Entry{
			Key: string(get(e, "key").Bytes()), Value: string(get(e, "value").Bytes()),
		})
	}
	if d.HasHits = has(m, "hits_addend"); d.HasHits {
		d.Hits = get(get(m, "hits_addend").Message(), "value").Uint()
	}
	if d.HasLimit = has(m, "limit"); d.HasLimit {
		limit := get(m, "limit").Message()
		d.Limit = rls.Override{
			RequestsPerUnit: uint32(get(limit, "requests_per_unit").Uint()),
			Unit:            int32(get(limit, "unit").Int()),
			Multiplier:      uint32(get(get(limit, "unit_multiplier").Message(), "value").Uint()),
		}
	}
	return d
}

func get(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

func has(m protoreflect.Message, name protoreflect.Name) bool {
	return m.Has(m.Descriptor().Fields().ByName(name))
}

// fromProto is the obvious conversion of the generated message.
func fromProto(m *rlsv3.RateLimitRequest) rls.Request {
	req := rls.Request{Domain: m.GetDomain(), HitsAddend: m.GetHitsAddend()}
	for _, md := range m.GetDescriptors() {
		d := rls.Descriptor{
			HasLimit: md.Limit != nil,
			Limit: rls.Override{
				RequestsPerUnit: md.GetLimit().GetRequestsPerUnit(),
				Unit:            int32(md.GetLimit().GetUnit()),
				Multiplier:      md.GetLimit().GetUnitMultiplier().GetValue(),
			},
			HasHits:    md.HitsAddend != nil,
			Hits:       md.GetHitsAddend().GetValue(),
			IsNegative: md.GetIsNegativeHits(),
		}
		for _, e := range md.GetEntries() {
			d.Entries = append(d.Entries, descriptors.Entry{Key: e.GetKey(), Value: e.GetValue()})
		}
		req.Descriptors = append(req.Descriptors, d)
	}
	return req
}
