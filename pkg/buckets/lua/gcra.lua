-- gcra: each hit takes T µs (step); a cost fits while the theoretical arrival
-- time stays within B*T of now.
-- State: time, the theoretical arrival time.
-- Go twin: gcra.go
local m = { fields = { 'time' } }

function m.advance(s, l, now)
  local reach = l.window + 2 * l.capacity * l.step
  local time, mended = s.time, s.time - now > reach
  if time < now or mended then time = now end
  return { count = 0, time = time, now = now, mended = mended }
end

function m.used(s, l)
  return muldiv_up(s.time - s.now, 1, l.step, 0)
end

function m.charge(s, l, hits)
  local cost = muldiv(hits, l.step, 1, 0)
  local most = muldiv(l.cap, l.step, 1, 0)
  s.time = s.now + fill(s.time - s.now, cost, most)
end

function m.refund(s, l, hits)
  s.time = s.now + drain(s.time - s.now, (muldiv(hits, l.step, 1, 0)))
end

-- Less the time that has passed since the charge.
function m.give_back(s, l, hits, at)
  local back = drain((muldiv(hits, l.step, 1, 0)), max(0, s.now - at))
  s.time = s.now + drain(s.time - s.now, back)
end

function m.fresh_in(s)
  return s.time - s.now
end

function m.room_in(s, l, hits)
  return s.time - s.now - (l.capacity - hits) * l.step
end

return m
