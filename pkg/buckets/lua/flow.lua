-- Buckets that drain all the time: the arithmetic of token_bucket and
-- leaky_bucket.
-- State: count hits in use, frac/W of a further hit flowed back, as of time.
-- Go twin: flow.go
local m = { one = 'count', two = 'frac', three = 'time', format = '>BBI8I8I8', size = 26 }

function m.advance(s, l, now)
  local time, bucket_now, mended = settle(s.time, now, l.window)
  local count, frac = s.count, min(s.frac, l.window - 1)
  if bucket_now > time and count > 0 then
    local back
    back, frac = muldiv(bucket_now - time, l.amount, l.window, frac)
    count = drain(count, back)
  end
  if count == 0 then frac = 0 end
  s.count, s.frac, s.time, s.now, s.mended = count, frac, bucket_now, bucket_now, mended
end

function m.used(s)
  return s.count
end

function m.charge(s, l, hits)
  s.count = fill(s.count, hits, l.cap)
end

function m.refund(s, _, hits)
  s.count = drain(s.count, hits)
  if s.count == 0 then s.frac = 0 end
end

-- Less what may have flowed back since the charge.
function m.give_back(s, l, hits, at)
  local since = max(0, s.now - at)
  m.refund(s, l, drain(hits, muldiv_up(since, l.amount, l.window, 0)))
end

-- How long until hits have flowed back: (hits*W - frac) / L, rounded up.
function m.time_for(s, l, hits)
  if hits == 0 then return 0 end
  return muldiv_up(l.window, hits - 1, l.amount, l.window - s.frac)
end

function m.fresh_in(s, l)
  return m.time_for(s, l, s.count)
end

function m.room_in(s, l, hits)
  return m.time_for(s, l, s.count + hits - l.capacity)
end

return m
