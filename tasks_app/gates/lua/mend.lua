-- Delete keys that somebody made something else of, as if Redis had lost them.
-- KEYS: epoch, then others   ARGV: for each of the others, the type that it should have
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= ARGV[i - 1] then redis.call('DEL', KEYS[i]) end
end
-- Without an epoch nobody is admitted until the sets are restored from the attempt table.
redis.call('DEL', KEYS[1])
return 1
