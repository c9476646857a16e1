-- Hold the slots of one claim for a lease from now; slots that Redis lost are added again.
-- KEYS: all, generator set, owner set, claiming   ARGV: claim id, lease (ms), task id
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local expiry = now + tonumber(ARGV[2])
for i = 1, 3 do
  redis.call('ZADD', KEYS[i], 'GT', expiry, ARGV[1])
  if redis.call('PTTL', KEYS[i]) < expiry - now then redis.call('PEXPIREAT', KEYS[i], expiry) end
end
redis.call('ZREM', KEYS[4], ARGV[3])
return expiry
