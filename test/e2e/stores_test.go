package e2e

import "testing"

// onEachStore runs a test on the embedded store and on a real Redis, behind a
// gateway of its own for each.
func onEachStore(t *testing.T, test func(t *testing.T, g *gateway, s *rls)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := startRLS(t, "STORE=memory://")
		test(t, startGateway(t, patient, s), s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		_, store := startRedis(t)
		s := startRLS(t, store, patientStore)
		test(t, startGateway(t, patient, s), s)
	})
}

// patientStore waits for a busy machine's Redis longer than anybody would.
const patientStore = "STORE_TIMEOUT=1s"
