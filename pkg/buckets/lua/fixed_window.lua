-- fixed_window: a counter that starts anew with each window.
-- State: count hits in the window that began at time. Windows begin at multiples
-- of W (align 0), at the first charged hit (1), or where the call's bounds say
-- (2, calendar).
-- Go twin: fixed_window.go
local m = { one = 'count', two = 'time', format = '>BBI8I8', size = 18 }

-- The window of three that holds now, else the nearest.
local function around(bounds, now)
  if now < bounds[2] then return bounds[1], bounds[2] end
  if now < bounds[3] then return bounds[2], bounds[3] end
  return bounds[3], bounds[4]
end

function m.advance(s, l, now, bounds)
  local count, time, w = s.count, s.time, l.window
  local mended = count > 0 and time - now > w
  if count > 0 and time > now and not mended then now = time end
  local start, stop
  if l.align == 0 then
    start = now - fmod(now, w)
    stop = start + w
  elseif l.align == 2 then
    start, stop = around(bounds, now)
    if count > 0 and start < time and time <= now then
      start, stop = time, time + w -- the server's clock is windows behind
    end
  else
    start = now
    if count > 0 and time <= now and now - time < w then start = time end
    stop = start + w
  end
  if time ~= start and time <= now then count = 0 end
  s.count, s.time, s.now, s.stop, s.mended = count, start, now, stop, mended
end

function m.used(s)
  return s.count
end

function m.charge(s, l, hits)
  s.count = fill(s.count, hits, l.cap)
end

function m.refund(s, _, hits)
  s.count = drain(s.count, hits)
end

-- Only into the window of the charge.
function m.give_back(s, _, hits, at)
  if at >= s.time and at < s.stop then s.count = drain(s.count, hits) end
end

function m.reset(s)
  return max(1, s.stop - s.now)
end

function m.fresh_in(s)
  if s.count == 0 then return 0 end
  return m.reset(s)
end

m.full_in = m.reset
m.room_in = m.reset
return m
