import { failed, type ToolExecution, type ToolOutcome } from './outcome.ts';

const readLimitChars = 20_000;

/** The builtin tools that run in the process: `current_time` and `result_read`. */
export async function executeBuiltin(execution: ToolExecution): Promise<ToolOutcome> {
  const name = execution.tool.config['name'];
  if (name === 'current_time') return currentTime(execution.args['timezone']);
  if (name === 'result_read') return readResult(execution);
  return failed('tool_unavailable', 'this deployment has no builtin tool of that name', false);
}

function currentTime(timezone: unknown): ToolOutcome {
  const zone = typeof timezone === 'string' && timezone !== '' ? timezone : 'UTC';
  if (!isTimeZone(zone)) return failed('invalid_arguments', 'timezone must be an IANA time zone', false);
  const now = new Date();
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    weekday: 'long',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  }).formatToParts(now);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  return { status: 'succeeded', type: 'json', value: { utc: now.toISOString(), local, timezone: zone, weekday: part('weekday') } };
}

async function readResult(execution: ToolExecution): Promise<ToolOutcome> {
  const callId = execution.args['call_id'];
  const offset = execution.args['offset'];
  const start = typeof offset === 'number' ? offset : 0;
  const found = typeof callId === 'string' ? await execution.readOutput(callId, start, readLimitChars) : null;
  if (found === null) return failed('invalid_arguments', 'this run has no stored result under that call_id', false);
  const next = start + found.text.length;
  const more = next < found.totalChars ? `\n\n[${next} of ${found.totalChars} characters; go on with offset ${next}]` : '';
  return { status: 'succeeded', type: 'text', text: found.text + more };
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
