package xdssource

import (
	"slices"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// TestRefusalPauses grow for the same content, in whatever order it comes, and
// begin anew for other content.
func TestRefusalPauses(t *testing.T) {
	t.Parallel()
	resources := []*anypb.Any{pack(t, "a", 1), pack(t, "b", 1), pack(t, "c", 1)}
	var f refusals
	pause := func(version string, resources ...*anypb.Any) time.Duration {
		p, _ := f.pause(&discovery.DiscoveryResponse{VersionInfo: version, TypeUrl: typeURL, Resources: resources, Nonce: time.Now().String()}, time.Second)
		return p
	}
	for i, want := range []time.Duration{0, 1, 2, 4, 5, 5} {
		if got := pause("1", resources...); got != want*time.Second {
			t.Errorf("pause %d is %v, want %ds", i, got, want)
		}
		first := resources[0]
		resources = append(slices.Clone(resources[1:]), first)
	}
	for name, got := range map[string]time.Duration{
		"other version":   pause("2", resources...),
		"fewer resources": pause("2", resources[:2]...),
		"other resources": pause("2", resources[0], pack(t, "c", 2)),
	} {
		if got != 0 {
			t.Errorf("%s: pause of %v", name, got)
		}
	}
	f.forget()
	if got := pause("2", resources[0], pack(t, "c", 2)); got != 0 {
		t.Errorf("after an accepted answer: pause of %v", got)
	}
}
