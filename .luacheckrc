-- Settings of luacheck for the Lua of pkg/buckets/lua. internal/house runs it on
-- the script that Redis gets, which is all of the files together.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'struct', 'cmsgpack', 'bit' }
max_line_length = 120
