-- Give the slots of one claim back.
-- KEYS: all, generator set, owner set, claiming, full owners   ARGV: claim id, task id, owner id
local gone = redis.call('ZREM', KEYS[1], ARGV[1])
gone = gone + redis.call('ZREM', KEYS[2], ARGV[1])
gone = gone + redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('ZREM', KEYS[5], ARGV[3])
return gone
