-- token_bucket: B tokens, a hit takes one, L a window flow back: continuously,
-- or in whole steps of step_hits every step µs.
-- State: see flow.lua; with steps, frac is 0 and time is the last step.
-- Go twin: token_bucket.go
local m = flow()
local continuous, give_back, time_for = m.advance, m.give_back, m.time_for

function m.advance(s, l, now)
  if l.step == 0 then return continuous(s, l, now) end
  local time, bucket_now, mended = settle(s.time, now, l.window)
  local since = bucket_now - time
  local steps = (since - fmod(since, l.step)) / l.step
  local count = drain(s.count, (muldiv(steps, l.step_hits, 1, 0)))
  time = time + steps * l.step
  if count == 0 then time = bucket_now end
  s.count, s.frac, s.time, s.now, s.mended = count, 0, time, bucket_now, mended
end

function m.give_back(s, l, hits, at)
  if l.step == 0 then return give_back(s, l, hits, at) end
  local since = max(0, s.now - at) + l.step - 1
  local steps = (since - fmod(since, l.step)) / l.step
  m.refund(s, l, drain(hits, (muldiv(steps, l.step_hits, 1, 0))))
end

function m.time_for(s, l, hits)
  if l.step_hits == 0 or hits == 0 then return time_for(s, l, hits) end
  local left = fmod(hits - 1, l.step_hits)
  local steps = (hits - 1 - left) / l.step_hits + 1
  return max(0, (muldiv(steps, l.step, 1, 0)) - (s.now - s.time))
end

return m
