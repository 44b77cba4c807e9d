-- Reads each bucket once, decides the calls in order, each all or nothing,
-- writes each changed bucket once. Redis runs one script at a time, so this is
-- written to make few tables: one for a bucket, and none for a call.
-- Go twin: decide.go
local TAKE, LOOK, REFUND = 0, 1, 2
local ENFORCED, QUOTA = 0, 2
local IS_ALLOWED, IS_CHARGED, IS_DENIED_CALL, IS_NEWER = 1, 2, 4, 8

local now, spare = tonumber(ARGV[2]), 0
if now then
  spare = 86400000000 -- the server expires by a clock that runs apart from ours
else
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end

local blob, at = ARGV[1], 1
local raw = #KEYS > 0 and redis.call('MGET', unpack(KEYS)) or {}
local buckets, touched = {}, {} -- by position in KEYS, and in order
local foreign = 0 -- values that were not ours and are overwritten

local built = {} -- algorithms by number
local function algorithm_of(number)
  local m = built[number]
  if not m then
    m = algorithms[number]()
    m.number = number
    m.format = '>BB' .. string.rep('I8', #m.fields)
    m.size = 2 + 8 * #m.fields
    m.one, m.two, m.three = m.fields[1], m.fields[2], m.fields[3]
    built[number] = m
  end
  return m
end

local function next_limit()
  local l = {}
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

-- Puts into s what the store holds. Layouts to come are left alone; anything else
-- that is not ours counts as a bucket never seen.
local function load(s)
  local m, value = s.m, raw[s.position]
  s.count, s.prev, s.frac, s.time, s.log = 0, 0, 0, 0, ''
  if not value then return end
  if not is_state(m, value) then
    local layout = value:byte(1) or 0
    s.newer = layout > LAYOUT and layout <= NEWEST_LAYOUT
    s.foreign = not s.newer
    return
  end
  local _, _, one, two, three = unpack_at(m.format, value)
  if one > EXACT or (m.two and two > EXACT) or (m.three and three > EXACT) then
    s.foreign = true
    return
  end
  s[m.one] = one
  if m.two then s[m.two] = two end
  if m.three then s[m.three] = three end
  if m.log then s.log = value:sub(m.size + 1) end
end

-- A bucket: its state, and what the calls of this run did to it.
--   by       the limit that aged it last
--   clean    it is as it was kept, or read
--   kept     how it was kept, where it is not so now
--   written  the limit under which it was kept; nil if it was not
local function bucket_at(position, m)
  local s = buckets[position]
  if not s then
    s = {
      m = m, position = position, count = 0, prev = 0, frac = 0, time = 0, log = '',
      now = 0, stop = 0, mended = false, clean = true, by = nil, written = nil,
    }
    load(s)
    if s.foreign then foreign = foreign + 1 end
    buckets[position] = s
    touched[#touched + 1] = s
  end
  return s
end

local function copy(to, s)
  to.count, to.prev, to.frac, to.time, to.log = s.count, s.prev, s.frac, s.time, s.log
  to.now, to.stop, to.mended = s.now, s.stop, s.mended
  return to
end

-- Undoes what was not kept.
local function revert(s)
  if s.clean then return end
  if s.kept then copy(s, s.kept) else load(s) end
  s.clean = true
end

-- Ages a bucket under a limit. What is not kept is aged anew under each limit,
-- for its amount may be another.
local function age(s, l, bounds)
  if s.by == l and not bounds then return end
  if not s.clean then
    revert(s)
  elseif s.written then
    s.kept = copy({}, s)
  end
  s.by, s.clean = l, false
  l.m.advance(s, l, now, bounds)
end

-- Leaves a state to the items after it, if it was written. A time that was a
-- fault is written even by a look: else the bucket would never age.
local function keep(s, l, charged)
  if charged or s.mended then
    s.written, s.clean, s.kept, s.mended = l, true, nil, false
  end
end

local items = {} -- of the call under decision; used again by the next

local function next_item(i)
  local item = items[i]
  if not item then
    item = {
      bucket = nil, limit = nil, op = 0, role = 0, charged = false, hits = 0, at = 0, bounds = nil,
      allowed = false, told_charged = false, remaining = 0, reset = 0, told_at = 0,
    }
    items[i] = item
  end
  local position, flags, limit
  position, flags, item.hits, limit, at = unpack_at('>I2BI8I2', blob, at)
  return item, position, flags, limit
end

local limits = {}

local function read_item(i)
  local item, position, flags, limit = next_item(i)
  local l = limits[limit]
  item.limit = l
  if flags == 0 then
    item.op, item.role, item.charged = TAKE, ENFORCED, false
  else
    item.op, item.role, item.charged = flags % 4, floor(flags / 4) % 4, flags >= 16
    if item.op > REFUND then item.at, at = unpack_at('>I8', blob, at) end
  end
  item.bounds = nil
  if l.align == 2 then
    local edges = { unpack_at('>I8I8I8I8', blob, at) }
    item.bounds, at = edges, edges[5]
  end
  item.bucket = buckets[position] or bucket_at(position, l.m)
  return item
end

-- Completes a verdict from the state it leaves.
local function tell(item, s, l, allowed, charged)
  local m, hits, reset = l.m, item.hits, 0
  local used = m.used(s, l)
  if allowed then
    reset = (m.reset or m.fresh_in)(s, l)
  elseif hits > l.capacity then
    reset = (m.full_in or m.fresh_in)(s, l)
  elseif used + hits > l.capacity then
    reset = m.room_in(s, l, hits)
  end
  item.allowed, item.told_charged = allowed, charged
  item.remaining = used < l.capacity and l.capacity - used or 0
  item.reset, item.told_at = reset + s.now - now, s.now
end

local function give_back(item, s, l)
  local count, prev, time = s.count, s.prev, s.time
  if item.op == REFUND then
    l.m.refund(s, l, item.hits)
  else
    l.m.give_back(s, l, item.hits, item.at)
  end
  return s.count ~= count or s.prev ~= prev or s.time ~= time
end

-- The verdict of an item, and what an allowed call does.
local function first(item)
  local l, s = item.limit, item.bucket
  age(s, l, item.bounds)
  local allowed, charged = true, false
  if item.op <= LOOK then
    allowed = l.m.used(s, l) + item.hits <= l.capacity
    if item.op == TAKE and (allowed or item.charged) then
      charged = true
      l.m.charge(s, l, item.hits)
    end
  else
    charged = give_back(item, s, l)
  end
  keep(s, l, charged)
  tell(item, s, l, allowed, charged)
  if charged and item.op > LOOK then s.by = nil end -- a refund may end an age
  return allowed
end

-- The second pass of a denied call. What the first told a denied item stands.
local function again(item)
  local l, s = item.limit, item.bucket
  age(s, l, item.bounds)
  local charged = false
  if item.op > LOOK then
    charged = give_back(item, s, l)
  elseif item.op == TAKE and item.charged then
    charged = true
    l.m.charge(s, l, item.hits)
  end
  keep(s, l, charged)
  item.told_charged = charged
  if item.allowed then tell(item, s, l, true, charged) end
  if charged and item.op > LOOK then s.by = nil end
end

-- A bucket as it was before a call.
local function save(s)
  local was = copy({}, s)
  was.by, was.clean, was.kept, was.written = s.by, s.clean, s.kept, s.written
  return was
end

local function restore(s, was)
  copy(s, was)
  s.by, s.clean, s.kept, s.written = was.by, was.clean, was.kept, was.written
end

-- Weighs n items in order; true if the call is denied.
local function weigh(n)
  local denied, quota, quota_denied = false, 0, 0
  for i = 1, n do
    local item = items[i]
    local allowed = first(item)
    if item.role == QUOTA and item.op <= LOOK then
      quota = quota + 1
      if not allowed then quota_denied = quota_denied + 1 end
    elseif not allowed and item.role == ENFORCED then
      denied = true
    end
  end
  return denied or (quota > 0 and quota == quota_denied)
end

-- Decides a call of n items: the flag that goes with each of its verdicts.
local function decide(n)
  for i = 1, n do
    if items[i].bucket.newer then return IS_NEWER end
  end
  if n == 1 then -- nothing of it is to be undone
    return weigh(1) and IS_DENIED_CALL or 0
  end
  local before = {}
  for i = 1, n do
    local s = items[i].bucket
    before[s] = before[s] or save(s)
  end
  if not weigh(n) then return 0 end
  for s, was in pairs(before) do restore(s, was) end
  for i = 1, n do again(items[i]) end
  return IS_DENIED_CALL
end

local out, answers = {}, 0

local function answer(n, outcome)
  for i = 1, n do
    local item, flags = items[i], outcome
    if outcome == IS_NEWER then
      item.remaining, item.reset, item.told_at = 0, 0, 0
    else
      if item.allowed then flags = flags + IS_ALLOWED end
      if item.told_charged then flags = flags + IS_CHARGED end
    end
    out[answers + 1], out[answers + 2], out[answers + 3], out[answers + 4] =
      flags, item.remaining, item.reset, item.told_at
    answers = answers + 4
  end
end

-- All verdicts as one string, some at a time: Lua's stack is bounded.
local function packed_answers()
  local parts, most = {}, 400
  for from = 1, answers, most do
    local to = min(from + most - 1, answers)
    parts[#parts + 1] = pack('>' .. string.rep('BI4I8I8', (to - from + 1) / 4), unpack(out, from, to))
  end
  return table.concat(parts)
end

local ttls = {} -- as texts: to make one takes longer than to look it up

local function write(s)
  revert(s)
  local key, m = KEYS[s.position], s.m
  if not raw[s.position] and redis.call('EXISTS', key) == 1 then
    foreign = foreign + 1 -- of another type
  end
  local ttl = s.now + m.fresh_in(s, s.written) - now
  if ttl <= 0 then
    redis.call('DEL', key)
    return
  end
  ttl = math.ceil((ttl + spare) / 1000)
  local text = ttls[ttl]
  if not text then
    text = string.format('%.0f', ttl)
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
  redis.call('SET', key, value, 'PX', text)
end

local calls, known
calls, known, at = unpack_at('>I2I2', blob, at)
for i = 1, known do limits[i] = next_limit() end
for _ = 1, calls do
  local n
  n, at = unpack_at('>I2', blob, at)
  for i = 1, n do read_item(i) end
  answer(n, decide(n))
end
for _, s in ipairs(touched) do
  if s.written then write(s) end
end
return pack('>I8I4', now, foreign) .. packed_answers()
