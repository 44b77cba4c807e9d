-- sliding_window_log: the hits of the charged calls in (now-W, now].
-- State: count, and log: 12 bytes a call (time, hits), oldest first; count is
-- the sum of its hits.
-- Go twin: sliding_window_log.go
local ENTRY = 12
local m = { one = 'count', format = '>BBI8', size = 10, log = true }

local function entry(log, at) -- at: 0 for the oldest
  return unpack_at('>I8I4', log, at * ENTRY + 1)
end

function m.advance(s, l, now)
  local log, count, w = s.log, s.count, l.window
  local n = #log / ENTRY
  -- Times rise along the log. Those too far ahead are a fault, read as now.
  local sound = n
  while sound > 0 and entry(log, sound - 1) - now > w do sound = sound - 1 end
  if sound > 0 then now = max(now, (entry(log, sound - 1))) end
  local mended = sound < n
  if mended then
    local parts = { log:sub(1, sound * ENTRY) }
    for i = sound, n - 1 do
      local _, hits = entry(log, i)
      parts[#parts + 1] = pack('>I8I4', now, hits)
    end
    log = table.concat(parts)
  end
  local left = 0
  while left < n do
    local time, hits = entry(log, left)
    if time > now - w then break end
    count = drain(count, hits)
    left = left + 1
  end
  if left > 0 then log = log:sub(left * ENTRY + 1) end
  if left == n then count = 0 end
  s.count, s.log, s.now, s.mended = count, log, now, mended
end

function m.used(s)
  return s.count
end

function m.charge(s, l, hits)
  hits = fill(s.count, hits, l.cap) - s.count
  if hits > 0 then
    s.log = s.log .. pack('>I8I4', s.now, hits)
    s.count = s.count + hits
  end
end

-- From the newest entries first.
function m.refund(s, _, hits)
  local n, last = #s.log / ENTRY, nil
  hits = min(hits, s.count)
  s.count = s.count - hits
  while hits > 0 and n > 0 do
    local time, there = entry(s.log, n - 1)
    local taken = min(there, hits)
    hits = hits - taken
    n = n - 1
    if there > taken then last = pack('>I8I4', time, there - taken) end
  end
  s.log = s.log:sub(1, n * ENTRY) .. (last or '')
end

-- Drops the newest entry of that time and cost, if it is there.
function m.give_back(s, _, hits, at)
  for i = #s.log / ENTRY - 1, 0, -1 do
    local time, there = entry(s.log, i)
    if time < at then return end
    if time == at and there == hits then
      s.log = s.log:sub(1, i * ENTRY) .. s.log:sub((i + 1) * ENTRY + 1)
      s.count = s.count - hits
      return
    end
  end
end

function m.fresh_in(s, l)
  if s.log == '' then return 0 end
  return (entry(s.log, #s.log / ENTRY - 1)) + l.window - s.now
end

function m.reset(s, l)
  if s.log == '' then return 0 end
  return (entry(s.log, 0)) + l.window - s.now
end

function m.room_in(s, l, hits)
  local over = s.count + hits - l.amount
  for i = 0, #s.log / ENTRY - 1 do
    local time, there = entry(s.log, i)
    if there >= over then return time + l.window - s.now end
    over = over - there
  end
  return 0
end

return m
