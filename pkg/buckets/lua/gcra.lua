-- gcra: each hit takes T µs (step); a cost fits while the theoretical arrival
-- time stays within B*T of now.
-- State: time, the theoretical arrival time.
-- Go twin: gcra.go
local m = { one = 'time', format = '>BBI8', size = 10 }

function m.advance(s, l, now)
  local reach = l.window + 2 * l.capacity * l.step
  s.mended = s.time - now > reach
  if s.time < now or s.mended then s.time = now end
  s.now = now
end

function m.used(s, l)
  local ahead = s.time - s.now
  local rest = fmod(ahead, l.step)
  if rest == 0 then return ahead / l.step end
  return (ahead - rest) / l.step + 1
end

-- Twice the capacity takes at most 20 years, so the products here are exact.
function m.charge(s, l, hits)
  s.time = s.now + fill(s.time - s.now, hits * l.step, l.cap * l.step)
end

function m.refund(s, l, hits)
  s.time = s.now + drain(s.time - s.now, hits * l.step)
end

-- Less the time that has passed since the charge.
function m.give_back(s, l, hits, at)
  local back = drain(hits * l.step, max(0, s.now - at))
  s.time = s.now + drain(s.time - s.now, back)
end

function m.fresh_in(s)
  return s.time - s.now
end

function m.room_in(s, l, hits)
  return s.time - s.now - (l.capacity - hits) * l.step
end

return m
