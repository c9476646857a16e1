-- Declare the slot sets complete for this run of the server. KEYS: epoch
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'
redis.call('SET', KEYS[1], 'complete:' .. run)
return 1
