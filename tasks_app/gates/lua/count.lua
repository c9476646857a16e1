-- Add a batch of amounts to the counters, once.
-- KEYS: counters, this process' last batch   ARGV: batch, lifetime (s), then field, amount, ...
-- Returns 1 if they were added, 0 if this batch had been added before: its answer was lost.
if redis.call('GET', KEYS[2]) == ARGV[1] then return 0 end
for i = 3, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[2])
return 1
