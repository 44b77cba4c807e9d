package playground

// patterns are the traffics that may be asked for; maxCalls cuts them.
func patterns() map[string]func(*Config) []int64 {
	return map[string]func(*Config) []int64{
		"steady": steady, "burst": bursts, "edge": edge, "herd": herd,
		"own": func(c *Config) []int64 { return append([]int64(nil), c.Own[:min(len(c.Own), maxCalls+1)]...) },
	}
}

// steady spreads the calls evenly.
func steady(c *Config) (times []int64) {
	n := min(int64(c.PerSecond)*c.DurationMillis/1000, maxCalls+1)
	for i := range n {
		times = append(times, i*1000/int64(c.PerSecond))
	}
	return times
}

// at adds n calls at one time, if it lies within the run.
func (c *Config) at(times []int64, at int64, n uint64) []int64 {
	if at < 0 || at >= c.DurationMillis {
		return times
	}
	for range min(n, maxCalls) {
		times = append(times, at)
	}
	return times
}

// bursts come all at once, every half window.
func bursts(c *Config) (times []int64) {
	for at := int64(0); at < c.DurationMillis && len(times) <= maxCalls; at += max(1, c.WindowMillis/2) {
		times = c.at(times, at, c.PerSecond)
	}
	return times
}

// edge comes just before a window ends, and again just after.
func edge(c *Config) (times []int64) {
	for at := c.WindowMillis; at < c.DurationMillis && len(times) <= maxCalls; at += 2 * c.WindowMillis {
		times = c.at(times, at-10, c.PerSecond)
		times = c.at(times, at+10, c.PerSecond)
	}
	return times
}

// herd comes all at once, and all who are denied come again a second later, five
// times: clients that retry without thinking.
func herd(c *Config) (times []int64) {
	for retry := range int64(6) {
		times = c.at(times, 100+retry*1000, c.PerSecond)
	}
	return times
}
