-- Decides calls of one enforced take each, every bucket under one limit throughout:
-- nothing is ever undone, so no state is had twice. The same as mixed.lua in half
-- the work, for most runs are such.
-- Go twin: decide.go
local answers = {}
local once = calls == #keys -- each bucket is met once: one table does for all
local scratch = once and new_bucket()

for i = 1, calls do
  local position, flags, hits, limit
  position, flags, hits, limit, at = unpack_at('>xxI2BI8I2', blob, at)
  local s, l = buckets[position], limits[limit]
  if not s then
    s = read_bucket(scratch or new_bucket(), l.m, position)
    l.m.advance(s, l, now)
    if not once then
      buckets[position] = s
      touched[#touched + 1] = s
    end
  end
  if s.newer then
    answers[i] = pack(ANSWER, IS_NEWER, 0, 0, 0)
  else
    local allowed = l.m.used(s, l) + hits <= l.capacity
    local charged = allowed or flags ~= 0
    if charged then l.m.charge(s, l, hits) end
    if charged or s.mended then
      if once then write(s, l) else s.written = l end
    end
    local remaining, reset = told(s, l, hits, allowed)
    answers[i] = pack(ANSWER,
      (allowed and IS_ALLOWED or IS_DENIED_CALL) + (charged and IS_CHARGED or 0),
      remaining, reset, s.now)
  end
end
for _, s in ipairs(touched) do
  if s.written then write(s, s.written) end
end
return pack('>I8I4', now, foreign) .. table.concat(answers)
