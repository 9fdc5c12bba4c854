import { readAttachment } from '../../attachments/read-attachment.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import { truncateText } from '../calls/output.ts';
import { searchKnowledge } from './knowledge-search.ts';
import { writeKnowledge } from './knowledge-write.ts';
import { loadSkill, writeSkill } from './skills.ts';

/** Characters that `[<n> of <m> characters; go on with offset <n>]` takes after a part. */
const noteChars = 80;

/** One builtin by its name. It gets the dependencies of the process, for what it reads or stores. */
export type BuiltinHandler = (execution: ToolExecution, deps: ToolDeps) => ToolOutcome | Promise<ToolOutcome>;

/** Builtins by their `config.name`. */
const builtins: Readonly<Record<string, BuiltinHandler>> = {
  current_time: ({ args, variables }) => currentTime(args['timezone'], new Date(String(variables['now']))),
  result_read: readResult,
  attachment_read: readAttachment,
  skill_load: loadSkill,
  skill_write: writeSkill,
  knowledge_search: searchKnowledge,
  knowledge_write: writeKnowledge,
  // Never executed inside a run: the answer to its approval is its result.
  ask_user: () => failed('tool_unavailable', 'there is nobody to ask outside of a run', false),
};

/** Runs the builtin that the tool names, inside the process. */
export async function executeBuiltin(deps: ToolDeps, execution: ToolExecution): Promise<ToolOutcome> {
  const { name } = execution.tool.config;
  const handler = typeof name === 'string' && Object.hasOwn(builtins, name) ? builtins[name] : undefined;
  if (!handler) return failed('tool_unavailable', 'this deployment has no builtin tool of that name', false);
  return handler(execution, deps);
}

function currentTime(timezone: unknown, now: Date): ToolOutcome {
  const zone = typeof timezone === 'string' && timezone !== '' ? timezone : 'UTC';
  if (!isTimeZone(zone)) return failed('invalid_arguments', 'timezone must be an IANA time zone', false);
  const deps = new Intl.DateTimeFormat('en-CA', {
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
  const part = (type: Intl.DateTimeFormatPartTypes) => deps.find((one) => one.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  return { status: 'succeeded', type: 'json', value: { utc: now.toISOString(), local, timezone: zone, weekday: part('weekday') } };
}

async function readResult(execution: ToolExecution): Promise<ToolOutcome> {
  const callId = execution.args['call_id'];
  const offset = execution.args['offset'];
  const start = typeof offset === 'number' ? offset : 0;
  const limit = Math.max(noteChars, execution.tool.responseMaxChars ?? 20_000) - noteChars;
  // One more character shows whether the last one is complete.
  const found = typeof callId === 'string' ? await execution.readOutput(callId, start, limit + 1) : null;
  if (found === null) return failed('invalid_arguments', 'this run has no stored result under that call_id', false);
  const text = truncateText(found.text, limit);
  const next = start + text.length;
  const more = next < found.totalChars ? `\n\n[${next} of ${found.totalChars} characters; go on with offset ${next}]` : '';
  return { status: 'succeeded', type: 'text', text: text + more };
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
