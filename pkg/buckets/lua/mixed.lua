-- Decides calls of any kind, each all or nothing: reads each bucket once, weighs
-- the calls in order, writes each changed bucket once. It makes few tables: one
-- for a bucket, and none for a call.
-- Go twin: decide.go
local TAKE, LOOK, REFUND = 0, 1, 2
local ENFORCED, QUOTA = 0, 2

local function bucket_at(position, m)
  local s = buckets[position]
  if not s then
    s = read_bucket(new_bucket(), m, position)
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
  item.allowed, item.told_charged, item.told_at = allowed, charged, s.now
  item.remaining, item.reset = told(s, l, item.hits, allowed)
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

local answers = {}

local function answer_call(n, outcome)
  for i = 1, n do
    local item, flags = items[i], outcome
    if outcome == IS_NEWER then
      item.remaining, item.reset, item.told_at = 0, 0, 0
    else
      if item.allowed then flags = flags + IS_ALLOWED end
      if item.told_charged then flags = flags + IS_CHARGED end
    end
    answers[#answers + 1] = pack(ANSWER, flags, item.remaining, item.reset, item.told_at)
  end
end

for _ = 1, calls do
  local n
  n, at = unpack_at('>I2', blob, at)
  for i = 1, n do read_item(i) end
  answer_call(n, decide(n))
end
for _, s in ipairs(touched) do
  if s.written then
    revert(s)
    write(s, s.written)
  end
end
return pack('>I8I4', now, foreign) .. table.concat(answers)
