-- Vouch for slot sets that are complete; those that Redis has lost are restored by a claim.
-- KEYS: epoch   ARGV: for how many milliseconds
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'
if redis.call('GET', KEYS[1]) ~= 'complete:' .. run then return 0 end
redis.call('SET', KEYS[1] .. ':vouched', '1', 'PX', ARGV[1])
return 1
