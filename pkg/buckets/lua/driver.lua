-- Takes the calls to plain.lua or mixed.lua. Redis runs one script at a time, and
-- what a script defines it defines anew at each run: mixed.lua's part only where it
-- is needed.
-- Go twin: scripts.go
local is_plain, calls, known
is_plain, calls, known, at = unpack_at('>BI2I2', blob, at)
for i = 1, known do limits[i] = next_limit() end
local answers = (is_plain == 1 and plain or mixed)(calls)
return pack('>I8I4', now, foreign) .. table.concat(answers)
