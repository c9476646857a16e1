-- Declare the slot sets complete for this run of the server.
-- KEYS: epoch, then rates   ARGV: the fence under which they were restored (empty: whatever it
-- is), then for each rate the milliseconds until it is whole again, as if it had just been used up
--
-- If Redis lost the sets again while they were being restored, the epoch names another fence.
if ARGV[1] ~= '' and redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or 'unknown'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 2, #KEYS do
  local whole = tonumber(ARGV[i])
  if whole > 0 then
    redis.call('SET', KEYS[i], string.format('%.3f', now + whole), 'PX', math.ceil(whole) + 1)
  end
end
redis.call('SET', KEYS[1], 'complete:' .. run)
return 1
