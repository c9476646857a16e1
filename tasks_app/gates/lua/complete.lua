-- Declare the slot sets complete for this run of the server.
-- KEYS: epoch   ARGV: the fence under which they were restored (empty: whatever it is)
--
-- If Redis lost the sets again while they were being restored, the epoch names another fence.
if ARGV[1] ~= '' and redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'
redis.call('SET', KEYS[1], 'complete:' .. run)
return 1
