-- sliding_window_counter: this window's hits, and those of the one before
-- weighted by how much of it the sliding window still covers, in 1/2^20.
-- State: count hits in the window that began at time, prev in the one before.
-- Go twin: sliding_window_counter.go
local SCALE = 1048576
local m = { one = 'count', two = 'prev', three = 'time', format = '>BBI8I8I8', size = 26 }

function m.advance(s, l, now)
  local count, prev, time, w = s.count, s.prev, s.time, l.window
  local start = now - fmod(now, w)
  local mended = time - now > w
  if not mended and time ~= start then -- else what is there counts as of now
    if time > now then -- the clock ran back
      now, start = time, time - fmod(time, w)
    elseif time == start - w then
      prev, count = count, 0
    else
      prev, count = 0, 0
    end
  end
  s.count, s.prev, s.time, s.now, s.stop, s.mended = count, prev, start, now, start + w, mended
end

-- What the window before still weighs.
local function old(s, l)
  local k = muldiv_up(s.stop - s.now, SCALE, l.window, 0)
  return muldiv_up(s.prev, k, SCALE, 0)
end

function m.used(s, l)
  return old(s, l) + s.count
end

function m.charge(s, l, hits)
  s.count = fill(s.count, hits, drain(l.cap, old(s, l)))
end

function m.refund(s, _, hits)
  local from_current = min(s.count, hits)
  s.count = s.count - from_current
  s.prev = drain(s.prev, hits - from_current)
end

function m.give_back(s, l, hits, at)
  if at >= s.time and at < s.stop then
    s.count = drain(s.count, hits)
  elseif at < s.time and at >= s.time - l.window then
    s.prev = drain(s.prev, hits)
  end
end

function m.reset(s)
  return s.stop - s.now
end

function m.fresh_in(s, l)
  if s.count > 0 then return s.stop + l.window - s.now end
  if s.prev > 0 then return s.stop - s.now end
  return 0
end

-- How far into a window prev hits of the one before weigh at most most.
local function fades(prev, most, l)
  if prev <= most then return 0 end
  local k = muldiv(most, SCALE, prev, 0)
  return l.window - (muldiv(k, l.window, SCALE, 0))
end

function m.room_in(s, l, hits)
  if s.count + hits <= l.amount then
    return max(0, s.time + fades(s.prev, l.amount - hits - s.count, l) - s.now)
  end
  return s.stop + fades(s.count, l.amount - hits, l) - s.now
end

return m
