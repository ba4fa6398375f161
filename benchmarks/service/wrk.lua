-- Requests of wrk. Arguments: path of the bandit, kind, number of tasks, rows of a batch.
--   decide: decisions;  pairs: each decision is followed by its reward, a request of its own.
local path, kind, n_tasks, n_rows
local waiting, n_waiting = {}, 0
local bodies = {}
local n_threads = 0

function setup(thread)
  n_threads = n_threads + 1
  thread:set("seed", n_threads)
end

local function decision()
  return string.format('{"task":"task%d"}', math.random(n_tasks))
end

function init(args)
  path, kind, n_tasks, n_rows = args[1], args[2], tonumber(args[3]), tonumber(args[4])
  math.randomseed(seed)
  wrk.headers["Content-Type"] = "application/json"
  for i = 1, n_rows > 1 and 300 or 0 do
    local rows = {}
    for j = 1, n_rows do rows[j] = decision() end
    bodies[i] = wrk.format("POST", path .. "/decisions", nil, "[" .. table.concat(rows, ",") .. "]")
  end
  if kind ~= "pairs" then response = nil end
end

function request()
  if n_rows > 1 then return bodies[math.random(#bodies)] end
  if n_waiting > 0 then
    local id = waiting[n_waiting]
    n_waiting = n_waiting - 1
    local body = string.format('{"decision":"%s","value":%.6f}', id, math.random())
    return wrk.format("POST", path .. "/rewards", nil, body)
  end
  return wrk.format("POST", path .. "/decisions", nil, decision())
end

function response(status, headers, body)
  local id = string.match(body, '^{"id":"(%x+)"')
  if id then
    n_waiting = n_waiting + 1
    waiting[n_waiting] = id
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests": %d, "seconds": %.6f, "errors": %d, "p50": %.6f, "p99": %.6f}\n',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6))
end
