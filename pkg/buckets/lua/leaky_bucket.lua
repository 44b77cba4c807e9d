-- leaky_bucket: holds B hits and leaks L a window; what would overflow is denied.
-- State: see flow.lua; count is the level.
-- Go twin: leaky_bucket.go
return flow()
