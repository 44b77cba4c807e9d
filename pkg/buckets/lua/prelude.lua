-- Decides calls on buckets, atomically. This file, flow.lua, one file for each
-- algorithm, state.lua, plain.lua and mixed.lua are joined to ONE script by
-- scripts.go, so that a call may mix algorithms.
--
-- KEYS     the distinct buckets of all calls
-- ARGV[1]  the calls, packed: see scripts.go
-- ARGV[2]  the time in µs; only tests pass it, else it is the server's TIME
-- Output   the answers, packed: see scripts.go
--
-- Numbers are doubles, exact below 2^53; nothing here leaves that range.

local MAX_MICROS = 4503599627370496 -- 2^52: durations saturate here
local EXACT = 9007199254740992 -- 2^53
local LAYOUT, NEWEST_LAYOUT = 1, 15

local ceil, floor, fmod, max, min = math.ceil, math.floor, math.fmod, math.max, math.min
local pack, unpack_at, format = struct.pack, struct.unpack, string.format

-- (a*b + add) divided by d, with the remainder; quotients from 2^52 on are
-- saturated, with remainder 0. fmod is exact where % and / are rounded. Go twin:
-- mulDiv in state.go.
local function muldiv(a, b, d, add)
  local n = a * b + add
  if n < EXACT then
    local r = fmod(n, d)
    local q = (n - r) / d
    if q >= MAX_MICROS then return MAX_MICROS, 0 end
    return q, r
  end
  -- Surely saturated, whatever the rounding of the estimate.
  if n / d >= MAX_MICROS * 1.000000001 then return MAX_MICROS, 0 end
  -- Schoolbook: the digits of b, most significant first, in the largest base
  -- that keeps every step below 2^53.
  local rest = fmod(a, d)
  local q = (a - rest) / d * b
  local base = 2
  while d * base * 4 <= EXACT do base = base * 2 end
  local place = 1
  while place * base <= b do place = place * base end
  local digits, r = 0, 0
  while place >= 1 do
    local digit = floor(b / place)
    b = b - digit * place
    local step = r * base + rest * digit
    r = fmod(step, d)
    digits = digits * base + (step - r) / d
    place = place / base
  end
  r = r + add
  local left = fmod(r, d)
  q = q + digits + (r - left) / d
  if q >= MAX_MICROS then return MAX_MICROS, 0 end
  return q, left
end

local function muldiv_up(a, b, d, add)
  local q, r = muldiv(a, b, d, add)
  if r ~= 0 then return q + 1 end
  return q
end

-- The rule for clocks that run back: how a stored time is to be read, the
-- bucket's now, and whether the time was a fault. Go twin: settle in state.go.
local function settle(stored, now, reach)
  if stored - now > reach then return now, now, true end
  return stored, max(now, stored), false
end

-- Adds hits to used, but not past the cap; what is past it already stays.
local function fill(used, hits, cap)
  local sum = used + hits
  if sum <= cap then return sum end
  return max(used, cap)
end

local function drain(used, hits)
  if hits >= used then return 0 end
  return used - hits
end

-- An algorithm is a table of functions over a bucket s, a limit l, hits and µs:
--   one, two, three    the stored numbers, in order
--   format, size       how a state is packed, and its bytes, less its log
--   advance   ages s to now in place: s.now is the bucket's now, s.mended says
--             that a time in it was a fault. Again at the same now, also after a
--             charge, it changes nothing
--   used      hits in the way
--   charge, refund, give_back    change s in place
--   fresh_in  µs until s equals a fresh state
--   reset     what an allowed caller is told (default fresh_in)
--   full_in   what a cost above the capacity is told (default fresh_in)
--   room_in   µs until hits fit that do not fit now
-- A limit has amount, capacity, cap, window, align, step (µs) and step_hits.
