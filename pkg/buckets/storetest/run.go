package storetest

import "testing"

// Run runs everything but the golden traces.
func Run(t *testing.T, open Factory) {
	t.Run("Examples", func(t *testing.T) { RunExamples(t, open) })
	t.Run("Parallel", func(t *testing.T) { RunParallel(t, open) })
	t.Run("Histories", func(t *testing.T) { RunHistories(t, open, HistorySteps) })
}

// RunExamples runs the examples: one rule of the contract each.
func RunExamples(t *testing.T, open Factory) {
	examples := []struct {
		name string
		test func(*testing.T, Factory)
	}{
		{"Single", testSingle},
		{"WaitAsTold", testWaitAsTold},
		{"N2AllOrNothing", testAllOrNothing},
		{"ListOfCalls", testListOfCalls},
		{"SameBucketTwice", testSameBucketTwice},
		{"Roles", testRoles},
		{"Charged", testCharged},
		{"Refund", testRefund},
		{"GiveBack", testGiveBack},
		{"Reset", testReset},
		{"Grant", testGrant},
		{"Look", testLook},
		{"OddKeys", testOddKeys},
		{"N7N8BigNumbers", testBigNumbers},
		{"A11ChangedAmount", testChangedAmount},
		{"NothingStaysOfFresh", testNothingStaysOfFresh},
		{"NoItems", testNoItems},
		{"Budget", testBudget},
		{"Close", testClose},
	}
	for _, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			t.Parallel()
			example.test(t, open)
		})
	}
}
