package buckets

// leaky_bucket: a bucket that holds B hits (1 unless a burst is given) and
// leaks L a window; a call that would overflow it is denied. It is the
// leaky bucket as a meter (ITU-T I.371): it paces callers, with no queue.
// State and arithmetic: flow.go, where Count is the level.
//
// Lua twin: lua/leaky_bucket.lua.
var leakyBucket = spec{
	name:     "leaky_bucket",
	hasBurst: true,
	prepare:  func(*Limit) error { return nil },
	advance:  flow,
	used:     flowUsed,
	charge:   flowCharge,
	refund:   flowRefund,
	giveBack: flowGiveBack,
	freshIn:  flowFreshIn,
	roomIn:   flowRoomIn,
}
