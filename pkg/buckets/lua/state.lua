-- What a run reads and writes: its limits, and the states that Redis holds.
-- Go twin: layout.go
local IS_ALLOWED, IS_CHARGED, IS_DENIED_CALL, IS_NEWER = 1, 2, 4, 8
local ANSWER = '>BI4I8I8'

local call, keys = redis.call, KEYS
local now, spare = tonumber(ARGV[2]), 0
if now then
  spare = 86400000000 -- the server expires by a clock that runs apart from ours
else
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

local blob, at = ARGV[1], 1
local raw = #keys > 0 and call('MGET', unpack(keys)) or {}
local buckets, touched = {}, {} -- by position in KEYS, and in order
local foreign = 0 -- values that were not ours and are overwritten

local built = {} -- algorithms by number
local function algorithm_of(number)
  local m = built[number]
  if not m then
    m = new_algorithm(number)
    m.number = number
    built[number] = m
  end
  return m
end

local limits = {}

local function next_limit()
  local l = {
    m = nil, align = 0, amount = 0, capacity = 0, cap = 0, window = 0, step = 0, step_hits = 0,
  }
  local number
  number, l.align, l.amount, l.capacity, l.cap, l.window, l.step, l.step_hits, at =
    unpack_at('>BBI4I4I8I8I8I8', blob, at)
  l.m = algorithm_of(number)
  return l
end

-- Tells whether a value is a state of the algorithm, but for its numbers.
local function is_state(m, value)
  local layout, number = value:byte(1, 2)
  return layout == LAYOUT and number == m.number
    and (#value == m.size or (#value > m.size and m.log and fmod(#value - m.size, 12) == 0))
end

-- Puts into s what the store holds; true if that is not ours, which counts as a
-- bucket never seen. Layouts to come are left alone.
local function load(s)
  local m, value = s.m, raw[s.position]
  s.count, s.prev, s.frac, s.time, s.log, s.newer = 0, 0, 0, 0, '', false
  if not value then return false end
  if not is_state(m, value) then
    local layout = value:byte(1) or 0
    s.newer = layout > LAYOUT and layout <= NEWEST_LAYOUT
    return not s.newer
  end
  local _, _, one, two, three = unpack_at(m.format, value)
  if one > EXACT or (m.two and two > EXACT) or (m.three and three > EXACT) then return true end
  s[m.one] = one
  if m.two then s[m.two] = two end
  if m.three then s[m.three] = three end
  if m.log then s.log = value:sub(m.size + 1) end
  return false
end

-- A bucket: its state, and what the calls of this run did to it.
--   by       the limit that aged it last
--   clean    it is as it was kept, or read
--   kept     how it was kept, where it is not so now
--   written  the limit under which it was kept; nil if it was not
local function new_bucket()
  return {
    m = nil, position = 0, count = 0, prev = 0, frac = 0, time = 0, log = '', newer = false,
    now = 0, stop = 0, mended = false, clean = true, by = nil, kept = nil, written = nil,
  }
end

local function read_bucket(s, m, position)
  s.m, s.position = m, position
  if load(s) then foreign = foreign + 1 end
  return s
end

local ttls = {} -- as texts: to make one takes longer than to look it up

-- Writes the state of a bucket under limit l. Nothing is left of a fresh one.
local function write(s, l)
  local key, m = KEYS[s.position], s.m
  if not raw[s.position] and call('EXISTS', key) == 1 then
    foreign = foreign + 1 -- of another type
  end
  local ttl = s.now + m.fresh_in(s, l) - now
  if ttl <= 0 then
    call('DEL', key)
    return
  end
  ttl = ceil((ttl + spare) / 1000)
  local text = ttls[ttl]
  if not text then
    text = format('%.0f', ttl)
    ttls[ttl] = text
  end
  local value
  if m.three then
    value = pack(m.format, LAYOUT, m.number, s[m.one], s[m.two], s[m.three])
  elseif m.two then
    value = pack(m.format, LAYOUT, m.number, s[m.one], s[m.two])
  else
    value = pack(m.format, LAYOUT, m.number, s[m.one])
  end
  if m.log then value = value .. s.log end
  call('SET', key, value, 'PX', text)
end

-- What is told of the state that a verdict leaves: what remains, and the reset.
local function told(s, l, hits, allowed)
  local m, reset = l.m, 0
  local used = m.used(s, l)
  if allowed then
    reset = (m.reset or m.fresh_in)(s, l)
  elseif hits > l.capacity then
    reset = (m.full_in or m.fresh_in)(s, l)
  elseif used + hits > l.capacity then
    reset = m.room_in(s, l, hits)
  end
  return used < l.capacity and l.capacity - used or 0, reset + s.now - now
end

local plain, calls, known
plain, calls, known, at = unpack_at('>BI2I2', blob, at)
for i = 1, known do limits[i] = next_limit() end
