-- Take the slots of the first candidate that has room in every scope, or of none.
--
-- KEYS: epoch, all, claiming, full owners, then per candidate: generator set, owner set, rate
-- ARGV: claim id, claim lease (ms), limit of all, fence (ms), then per candidate: task id,
--       generator limit, owner limit, owner id, interval of the rate (ms; 0: none), its burst
-- Returns {"taken", index from 1} | {"full", owners newly seen at their limit}
--       | {"vouch", 0} | {"fence", milliseconds to wait} | {"restore", the fence that is over}
--
-- Time is Redis' own, so that the clocks of the callers do not matter.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local claim, lease, limit_all, fence = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- The slot sets count only while the epoch names this very server process: after FLUSHALL
-- the epoch is gone, after a restart from an old dump or a fail-over it names another run.
-- The first caller to notice starts a fence: for its length nobody is admitted, so that claims
-- which took slots before the loss have committed and the sets can be restored from the
-- attempt table.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'
local epoch = redis.call('GET', KEYS[1]) or ''
if epoch ~= 'complete:' .. run then
  local started = string.match(epoch, '^fence:' .. run .. ':(%d+)$')
  if not started then
    redis.call('SET', KEYS[1], 'fence:' .. run .. ':' .. string.format('%.0f', now))
    return {'fence', fence}
  end
  local left = tonumber(started) + fence - now
  if left > 0 then return {'fence', left} end
  return {'restore', epoch}
end
-- Leases end while their holders cannot reach this server, and the holders run on. So the sets
-- count only for a while after somebody compared them with the attempt table. No fence is needed:
-- what took slots since then, and has not committed, is still in the sets.
if redis.call('EXISTS', KEYS[1] .. ':vouched') == 0 then return {'vouch', 0} end

local function live(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  return redis.call('ZCARD', key)
end

local function hold(key, member, expiry)
  redis.call('ZADD', key, expiry, member)
  -- The key lives as long as its latest member.
  if redis.call('PTTL', key) < expiry - now then redis.call('PEXPIREAT', key, expiry) end
end

if live(KEYS[2]) >= limit_all then return {'full', 0} end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
-- A hint that has faded was not seen by the caller: it must count as new.
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)

local counts, newly_full = {}, 0
local function count(key)
  if not counts[key] then counts[key] = live(key) end
  return counts[key]
end

-- The generic cell rate algorithm (ITU-T I.371): one start per interval, some at once. A time
-- further ahead than the rate can have led to is from a slower rate of before.
local function arrival(key, interval, burst)
  local tat = math.max(tonumber(redis.call('GET', key) or 0) or 0, now)
  return math.min(tat, now + interval * burst)
end

local waits = {}
local function conforms(key, interval, burst)
  if interval <= 0 then return true end
  if waits[key] == nil then
    waits[key] = arrival(key, interval, burst) - now <= interval * (burst - 1) + 0.001
  end
  return waits[key]
end

local function spend(key, interval, burst)
  if interval <= 0 then return end
  local tat = arrival(key, interval, burst) + interval
  redis.call('SET', key, string.format('%.3f', tat), 'PX', math.ceil(tat - now) + 1)
end

local candidates = (#ARGV - 4) / 6
for i = 0, candidates - 1 do
  local argument, key = 5 + i * 6, 5 + i * 3
  local task, generator_limit = ARGV[argument], tonumber(ARGV[argument + 1])
  local owner_limit, owner = tonumber(ARGV[argument + 2]), ARGV[argument + 3]
  local interval, burst = tonumber(ARGV[argument + 4]), tonumber(ARGV[argument + 5])
  local generator_key, owner_key, rate_key = KEYS[key], KEYS[key + 1], KEYS[key + 2]
  if count(owner_key) >= owner_limit then
    -- A hint only, so it fades quickly: a raised limit must act within seconds.
    if redis.call('ZADD', KEYS[4], now + 3000, owner) == 1 then newly_full = newly_full + 1 end
    redis.call('PEXPIREAT', KEYS[4], now + 60000)
  elseif count(generator_key) < generator_limit and conforms(rate_key, interval, burst)
    and not redis.call('ZSCORE', KEYS[3], task) then
    local expiry = now + lease
    hold(KEYS[2], claim, expiry)
    hold(generator_key, claim, expiry)
    hold(owner_key, claim, expiry)
    hold(KEYS[3], task, expiry)
    spend(rate_key, interval, burst)
    return {'taken', i + 1}
  end
end
return {'full', newly_full}
