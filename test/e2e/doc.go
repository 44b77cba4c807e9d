// Package e2e tests the whole on real parts: the binary of envoy-rls, built from
// this tree, a real redis-server, and the real Envoy, which runs
// deploy/envoy.yaml with no more changed than its addresses. The gateways that deploy
// envoyproxy/ratelimit are here by what they give it: environment, user, files, and a
// control plane.
//
// redis-server is taken from PATH; Envoy is $ENVOY_BIN or the one in the
// repository's .cache folder that test.sh puts there. Where one is missing the
// tests fail and say what to do: they are never skipped.
//
// Every process listens on 127.0.0.1 and is stopped, by its process id, by the
// test that started it.
package e2e
