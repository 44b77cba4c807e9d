-- Reads each bucket once, decides the calls in order, each all or nothing,
-- writes each changed bucket once. Go twin: decide.go
local TAKE, LOOK, REFUND = 0, 1, 2
local ENFORCED, QUOTA = 0, 2
local ALLOWED, DENIED, NEWER = 0, 1, 2

local now, spare = tonumber(ARGV[2]), 0
if now then
  spare = 86400000000 -- the server expires by a clock that runs apart from ours
else
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end

local raw = #KEYS > 0 and redis.call('MGET', unpack(KEYS)) or {}
local buckets = {} -- by position in KEYS, once read
local limits = {} -- by their packed form
local built = {} -- algorithms by number
local foreign = 0 -- values that were not ours and are overwritten

local function algorithm_of(number)
  local m = built[number]
  if not m then
    m = algorithms[number]()
    m.format = '>BB' .. string.rep('I8', #m.fields)
    m.size = 2 + 8 * #m.fields
    built[number] = m
  end
  return m
end

-- Reads a state. Layouts to come are left alone; anything else that is not ours
-- counts as a bucket never seen.
local function read(m, number, value)
  local s = { count = 0, prev = 0, frac = 0, time = 0, log = '' }
  if not value then return s end
  local layout = value:byte(1) or 0
  if layout > LAYOUT and layout <= NEWEST_LAYOUT then return nil end
  local sound = layout == LAYOUT and value:byte(2) == number and #value >= m.size
    and (#value == m.size or (m.log and fmod(#value - m.size, 12) == 0))
  if sound then
    local numbers = { unpack_at(m.format, value) }
    for i, field in ipairs(m.fields) do
      s[field] = numbers[i + 2]
      sound = sound and s[field] <= EXACT
    end
    if sound then
      if m.log then s.log = value:sub(m.size + 1) end
      return s
    end
  end
  foreign = foreign + 1
  return { count = 0, prev = 0, frac = 0, time = 0, log = '' }
end

local function write(key, b, was)
  local ttl = b.fresh_at - now
  if not was and redis.call('EXISTS', key) == 1 then
    foreign = foreign + 1 -- of another type
  end
  if ttl <= 0 then
    redis.call('DEL', key)
    return
  end
  local m, s, numbers = b.m, b.state, {}
  for i, field in ipairs(m.fields) do numbers[i] = s[field] end
  local value = pack(m.format, LAYOUT, b.number, unpack(numbers))
  if m.log then value = value .. s.log end
  redis.call('SET', key, value, 'PX', math.ceil((ttl + spare) / 1000))
end

local blob, at = ARGV[1], 1

local function next_limit()
  local packed = blob:sub(at, at + 41)
  at = at + 42
  local l = limits[packed]
  if not l then
    local number, align, amount, capacity, cap, window, step, step_hits =
      unpack_at('>BBI4I4I8I8I8I8', packed)
    l = {
      number = number, align = align, amount = amount, capacity = capacity,
      cap = cap, window = window, step = step, step_hits = step_hits,
      m = algorithm_of(number),
    }
    limits[packed] = l
  end
  return l
end

local function next_item()
  local position, flags, hits
  position, flags, hits, at = unpack_at('>I2BI8', blob, at)
  local item = {
    op = flags % 4, role = floor(flags / 4) % 4, charged = floor(flags / 16) % 2 == 1,
    hits = hits, limit = next_limit(),
  }
  if item.op > REFUND then item.at, at = unpack_at('>I8', blob, at) end
  if item.limit.align == 2 then
    local b = { unpack_at('>I8I8I8I8', blob, at) }
    at = b[5]
    item.bounds = b
  end
  local b = buckets[position]
  if not b then
    b = { m = item.limit.m, number = item.limit.number }
    b.state = read(b.m, b.number, raw[position])
    buckets[position] = b
  end
  item.bucket = b
  return item
end

-- Leaves a state to the items after it, if it was written: one that was only
-- aged is aged anew by each item, whose amount may be another. A time that was a
-- fault is written even by a look: else the bucket would never age.
local function keep(b, s, l, charged)
  if charged or s.mended then
    b.state, b.written = s, true
    b.fresh_at = s.now + l.m.fresh_in(s, l)
  end
end

-- Completes a verdict from the state it leaves.
local function tell(item, s, allowed, charged)
  local l = item.limit
  local m, hits = l.m, item.hits
  local used, reset = m.used(s, l), 0
  if allowed then
    reset = (m.reset or m.fresh_in)(s, l)
  elseif hits > l.capacity then
    reset = (m.full_in or m.fresh_in)(s, l)
  elseif used + hits > l.capacity then
    reset = m.room_in(s, l, hits)
  end
  item.allowed, item.told_charged = allowed, charged
  item.remaining = l.capacity - min(used, l.capacity)
  item.reset = reset + s.now - now
  item.told_at = s.now
end

local function give_back(item, s)
  local l = item.limit
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
  local l, b = item.limit, item.bucket
  local m = l.m
  local s = m.advance(b.state, l, now, item.bounds)
  local allowed = true
  local charged
  if item.op <= LOOK then
    allowed = m.used(s, l) + item.hits <= l.capacity
    charged = item.op == TAKE and (allowed or item.charged)
    if charged then m.charge(s, l, item.hits) end
  else
    charged = give_back(item, s)
  end
  keep(b, s, l, charged)
  tell(item, s, allowed, charged)
end

-- The second pass of a denied call. What the first told a denied item stands.
local function again(item)
  local l, b = item.limit, item.bucket
  local s = l.m.advance(b.state, l, now, item.bounds)
  local charged = false
  if item.op > LOOK then
    charged = give_back(item, s)
  elseif item.op == TAKE and item.charged then
    charged = true
    l.m.charge(s, l, item.hits)
  end
  keep(b, s, l, charged)
  item.told_charged = charged
  if item.allowed then tell(item, s, true, charged) end
end

local function decide(items)
  local before = {}
  for _, item in ipairs(items) do
    local b = item.bucket
    if not b.state then return NEWER end
    before[b] = { state = b.state, written = b.written, fresh_at = b.fresh_at }
  end
  local enforced, quota, quota_denied = false, 0, 0
  for _, item in ipairs(items) do
    first(item)
    if item.role == QUOTA and item.op <= LOOK then
      quota = quota + 1
      if not item.allowed then quota_denied = quota_denied + 1 end
    elseif item.role == ENFORCED and not item.allowed then
      enforced = true
    end
  end
  if not enforced and (quota == 0 or quota > quota_denied) then return ALLOWED end
  for b, was in pairs(before) do
    b.state, b.written, b.fresh_at = was.state, was.written, was.fresh_at
  end
  for _, item in ipairs(items) do again(item) end
  return DENIED
end

local out = {}
local calls
calls, at = unpack_at('>I2', blob, at)
for _ = 1, calls do
  local items = {}
  local n
  n, at = unpack_at('>I2', blob, at)
  for i = 1, n do items[i] = next_item() end
  local outcome = decide(items)
  out[#out + 1] = pack('>B', outcome)
  for _, item in ipairs(items) do
    if outcome == NEWER then
      out[#out + 1] = pack('>BI4I8I8', 0, 0, 0, 0)
    else
      local flags = (item.allowed and 1 or 0) + (item.told_charged and 2 or 0)
      out[#out + 1] = pack('>BI4I8I8', flags, item.remaining, item.reset, item.told_at)
    end
  end
end

for position, b in pairs(buckets) do
  if b.written then write(KEYS[position], b, raw[position]) end
end
return pack('>I8I4', now, foreign) .. table.concat(out)
