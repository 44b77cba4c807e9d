package xdssource

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// refusals count how often the same content was refused in a row. Servers there
// are that send refused content again at once: without pauses that is a loop.
type refusals struct {
	content [sha256.Size]byte
	times   int
}

// pause counts a refusal and tells how long it has to wait. The first of some
// content need not.
func (f *refusals) pause(r *discovery.DiscoveryResponse, first time.Duration) (pause time.Duration, again bool) {
	content := contentOf(r)
	if f.times == 0 || content != f.content {
		f.content, f.times = content, 1
		return 0, false
	}
	pause = first
	for i := 1; i < f.times && pause < maxRefusePause; i++ {
		pause *= 2
	}
	f.times++
	return min(pause, maxRefusePause), true
}

func (f *refusals) forget() { f.times = 0 }

// contentOf is equal for the same version and resources, in any order: servers
// that keep them in a map send them in a new one each time. The nonce is not part
// of it.
func contentOf(r *discovery.DiscoveryResponse) [sha256.Size]byte {
	parts := make([]string, 0, len(r.GetResources()))
	for _, resource := range r.GetResources() {
		sum := sha256.Sum256(append([]byte(resource.GetTypeUrl()+"\x00"), resource.GetValue()...))
		parts = append(parts, string(sum[:]))
	}
	slices.Sort(parts)
	return sha256.Sum256([]byte(strings.Join(parts, "") + r.GetTypeUrl() + "\x00" + r.GetVersionInfo()))
}
