-- One exchange of a process with the permits of one provider. Only this script touches their keys.
-- KEYS[1]: what all keys of the provider begin with. ARGV[1]: the exchange as JSON (`Exchange` in exchange.ts).
-- Returns: whether the process has to send all it has again (0, 1), how many processes were seen lately, then the ids of granted permits.
--
--   processes        zset   process -> when it was last seen (ms); beyond the lease, its permits are given back
--   absent           set    processes whose waiting calls were taken out of the queues
--   seen             zset   the same, remembered longer
--   own:<process>    hash   id -> what it waits for or holds, as JSON: m(odel), w(orkspace), t(okens), a(rrival), s(econd of the grant, once granted)
--   held:<process>   hash   model or * -> permits that it holds
--   out:<process>    list   ids that were granted and not yet reported
--   models           set    models with waiting calls
--   ready:<model>    zset   workspace with waiting calls -> its rounds: the one with the fewest is next
--   rounds           zset   the rounds of workspaces that are ahead of `round`
--   round            string the rounds of the workspace that was served last
--   queue:<model>:<workspace>  zset  id -> arrival
--   requests:<scope>, tokens:<scope>  hash  second -> amount; the scope is a model or *
--   pause:<model>    hash   until(ms), granted (since then), strikes (refusals that named no time)

local leaseMs, absentMs, seenMs, windowS = 10000, 3000, 600000, 60
local rampMs, rampStepMs, strikesMs, maxStrikes = 8000, 1000, 120000, 5

local base, ask = KEYS[1], cjson.decode(ARGV[1])
local call = redis.call
local clock = call('TIME')
local second = tonumber(clock[1])
local now = second * 1000 + math.floor(tonumber(clock[2]) / 1000)
local me = ask.process

local function key(kind, name) return base .. kind .. ':' .. name end
local function queueOf(entry) return key('queue', entry.m .. ':' .. entry.w) end
local function scopesOf(entry) return { '*', entry.m } end
local function limitsOf(scope)
  if scope == '*' then return ask.limits.provider end
  return ask.limits.models[scope]
end

local function add(kind, scope, at, amount)
  local limits = limitsOf(scope)
  if limits == nil or limits[kind] == nil or amount == 0 then return end
  call('HINCRBY', key(kind, scope), at, amount)
  call('EXPIRE', key(kind, scope), windowS * 2)
end

local function used(kind, scope)
  local sum, seconds = 0, call('HGETALL', key(kind, scope))
  for at = 1, #seconds, 2 do
    if tonumber(seconds[at]) < second - windowS then call('HDEL', key(kind, scope), seconds[at])
    else sum = sum + tonumber(seconds[at + 1]) end
  end
  return sum
end

local function hold(process, entry, count)
  for _, scope in ipairs(scopesOf(entry)) do call('HINCRBY', key('held', process), scope, count) end
end

local function held(scope)
  local sum = 0
  for _, process in ipairs(call('ZRANGE', base .. 'processes', 0, -1)) do
    sum = sum + tonumber(call('HGET', key('held', process), scope) or 0)
  end
  return sum
end

local function enqueue(id, entry)
  call('ZADD', queueOf(entry), entry.a, id)
  if call('ZSCORE', key('ready', entry.m), entry.w) then return end
  local rounds = tonumber(call('ZSCORE', base .. 'rounds', entry.w) or 0)
  call('ZADD', key('ready', entry.m), math.max(rounds, tonumber(call('GET', base .. 'round') or 0)), entry.w)
  call('SADD', base .. 'models', entry.m)
end

local function dequeue(id, entry)
  call('ZREM', queueOf(entry), id)
  if call('EXISTS', queueOf(entry)) == 1 then return end
  call('ZREM', key('ready', entry.m), entry.w)
  if call('EXISTS', key('ready', entry.m)) == 0 then call('SREM', base .. 'models', entry.m) end
end

-- Takes the waiting calls of a process out of the queues; with `all`, gives back its permits, too.
local function remove(process, all)
  local entries, waited = call('HGETALL', key('own', process)), false
  for at = 1, #entries, 2 do
    local entry = cjson.decode(entries[at + 1])
    if entry.s == nil then
      waited = true
      dequeue(entries[at], entry)
      call('HDEL', key('own', process), entries[at])
    end
  end
  if not all then return waited end
  call('DEL', key('own', process), key('held', process), key('out', process))
  call('ZREM', base .. 'processes', process)
  call('SREM', base .. 'absent', process)
end

local function mark(process, id, entry) call('HSET', key('own', process), id, cjson.encode(entry)) end

-- Accounts for a call that has ended or is wanted no more. One that never left has used nothing.
local function finish(done)
  local text = call('HGET', key('own', me), done.id)
  if not text then return end
  local entry = cjson.decode(text)
  call('HDEL', key('own', me), done.id)
  if entry.s == nil then return dequeue(done.id, entry) end
  hold(me, entry, -1)
  local change = done.unsent and -entry.t or (done.tokens or entry.t) - entry.t
  local isRecent = second - entry.s <= windowS
  for _, scope in ipairs(scopesOf(entry)) do
    if isRecent then add('tokens', scope, entry.s, change)
    elseif change > 0 then add('tokens', scope, second, change) end
    if isRecent and done.unsent then add('requests', scope, entry.s, -1) end
  end
end

-- A refusal without a time pauses for 1 s, 2 s, … 32 s; one that was on its way when a pause began does not count again.
local function pause(refused)
  local name = key('pause', refused.m)
  local found = call('HMGET', name, 'until', 'strikes')
  local over, strikes = tonumber(found[1] or 0), tonumber(found[2] or 0)
  local ms = refused.ms
  if ms == nil then
    if over > now then return end
    ms = 1000 * 2 ^ math.min(strikes, maxStrikes)
    strikes = strikes + 1
  end
  call('HSET', name, 'until', string.format('%d', math.max(over, now + ms)), 'granted', 0, 'strikes', strikes)
  call('PEXPIRE', name, string.format('%d', math.max(over - now, ms) + strikesMs))
end

local function isPaused(model)
  local found = call('HMGET', key('pause', model), 'until', 'granted')
  if not found[1] then return false end
  local since = now - tonumber(found[1])
  if since < 0 then return true end
  if since >= rampMs then return false end
  -- 1 call in the first second after a pause, 2 in the next, then 4, …
  return tonumber(found[2]) >= 2 ^ (math.floor(since / rampStepMs) + 1) - 1
end

-- Returns the scope that is in the way of a call, or nil.
local function obstacle(entry)
  if isPaused(entry.m) then return entry.m end
  for _, scope in ipairs(scopesOf(entry)) do
    local limits = limitsOf(scope)
    if limits ~= nil then
      if limits.concurrency ~= nil and held(scope) >= limits.concurrency then return scope end
      if limits.requests ~= nil and used('requests', scope) >= limits.requests then return scope end
      if limits.tokens ~= nil and used('tokens', scope) + math.min(entry.t, limits.tokens) > limits.tokens then return scope end
    end
  end
end

local function serve(workspace, rounds)
  local round = math.max(rounds, tonumber(call('GET', base .. 'round') or 0))
  call('SET', base .. 'round', round)
  call('ZREMRANGEBYSCORE', base .. 'rounds', '-inf', round)
  -- Rounds that it missed while its model was at a limit are not made up for.
  call('ZADD', base .. 'rounds', round + 1, workspace)
  for _, model in ipairs(call('SMEMBERS', base .. 'models')) do call('ZADD', key('ready', model), 'XX', round + 1, workspace) end
end

local function grant(process, id, entry)
  dequeue(id, entry)
  entry.s = second
  mark(process, id, entry)
  hold(process, entry, 1)
  for _, scope in ipairs(scopesOf(entry)) do
    add('requests', scope, second, 1)
    add('tokens', scope, second, entry.t)
  end
  if call('EXISTS', key('pause', entry.m)) == 1 then call('HINCRBY', key('pause', entry.m), 'granted', 1) end
  call('RPUSH', key('out', process), id)
end

-- Grants permits, workspace after workspace, until each model or the provider is at a limit.
local function grantAll()
  local blocked = {}
  while true do
    local model, workspace, rounds
    for _, candidate in ipairs(call('SMEMBERS', base .. 'models')) do
      local first = blocked[candidate] and {} or call('ZRANGE', key('ready', candidate), 0, 0, 'WITHSCORES')
      if first[1] and (rounds == nil or tonumber(first[2]) < rounds) then
        model, workspace, rounds = candidate, first[1], tonumber(first[2])
      end
    end
    if model == nil then return end

    local id = call('ZRANGE', key('queue', model .. ':' .. workspace), 0, 0)[1]
    local process = id and string.match(id, '^[^/]+')
    local text = process and call('HGET', key('own', process), id)
    if not text then
      dequeue(id or '', { m = model, w = workspace }) -- its row was evicted
    else
      local entry = cjson.decode(text)
      local scope = obstacle(entry)
      if scope == '*' then return end
      if scope then blocked[model] = true
      else
        grant(process, id, entry)
        serve(workspace, rounds)
      end
    end
  end
end

for _, process in ipairs(call('ZRANGEBYSCORE', base .. 'processes', '-inf', now - absentMs)) do
  if tonumber(call('ZSCORE', base .. 'processes', process)) < now - leaseMs then remove(process, true)
  elseif process ~= me and remove(process, false) then call('SADD', base .. 'absent', process) end
end

local isKnown = call('ZSCORE', base .. 'processes', me) and call('SISMEMBER', base .. 'absent', me) == 0
for _, refused in ipairs(ask.pauses) do pause(refused) end
call('ZADD', base .. 'seen', now, me)
call('ZREMRANGEBYSCORE', base .. 'seen', '-inf', now - seenMs)

for _, done in ipairs(ask.finished) do finish(done) end
if ask.whole or isKnown then
  if ask.whole then
    remove(me, true)
    for _, entry in ipairs(ask.held) do
      mark(me, entry.id, { m = entry.m, w = entry.w, t = entry.t, s = second })
      hold(me, entry, 1)
    end
    for _, made in ipairs(ask.made) do
      for _, scope in ipairs(scopesOf(made)) do
        add('requests', scope, second - made.ago, 1)
        add('tokens', scope, second - made.ago, made.t)
      end
    end
  end
  call('ZADD', base .. 'processes', now, me)
  for _, entry in ipairs(ask.entering) do
    local waiting = { m = entry.m, w = entry.w, t = entry.t, a = entry.a or now - entry.ago }
    mark(me, entry.id, waiting)
    enqueue(entry.id, waiting)
  end
end
grantAll()

local reply = { (ask.whole or isKnown) and 0 or 1, call('ZCARD', base .. 'seen') }
for _, id in ipairs(call('LRANGE', key('out', me), 0, -1)) do table.insert(reply, id) end
call('DEL', key('out', me))
return reply
