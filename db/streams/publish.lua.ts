/**
 * `publish(first_seq, frames…)` on a run's single key adds each frame above the top id as `<seq>-0`; the key holds about 2000 frames and lives one hour.
 * Returns the top number. The ids refuse repeated and late frames; an empty key needs no seed, it starts again at first_seq.
 */
export const publishLua = `
local key = KEYS[1]
local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
local top = 0
if newest[1] then top = tonumber(string.match(newest[1][1], '^%d+')) end
local seq = tonumber(ARGV[1])
for i = 2, #ARGV do
  if seq > top then
    redis.call('XADD', key, string.format('%d-0', seq), 'f', ARGV[i])
    top = seq
  end
  seq = seq + 1
end
redis.call('XTRIM', key, 'MAXLEN', '~', 2000)
redis.call('PEXPIRE', key, 3600000)
return top
`;
