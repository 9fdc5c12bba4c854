import { followedTime } from '../../../db/database-clock.ts';
import { readRunPrincipal, type RunPrincipal } from '../../../db/runs/start/run-principal.ts';
import { iso } from '../../../db/sql.ts';
import { countActiveOfTool, readScheduleOfCall } from '../../../db/triggers/schedules.ts';
import type { ScheduleToolConfig } from '../../../db/tools/kind-config.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { createSchedule } from '../../../domain/triggers/create-schedule.ts';
import { strikesAfter } from '../../../ports/schedule/cadence.ts';
import { planSchedule, ScheduleProblem, type SchedulePlan, type ScheduleTimes } from '../../../ports/schedule/plan.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';

const dayMs = 86_400_000;
const dst = { gap: 'shift', repeat: 'once' } as const;
/** How many future instants are checked for the smallest interval between two. */
const instantsLookedAt = 60;

/**
 * Plans a later run of an agent as the run's principal, with the schedule that POST /schedules would create. Its row carries the call's id, so that a repeated
 * call finds the schedule that it has created.
 */
export async function executeSchedule(execution: ToolExecution): Promise<ToolOutcome> {
  const { run } = execution;
  const { toolId } = execution.tool;
  if (run === null || toolId === null) return failed('tool_unavailable', 'a schedule is made inside a run only', false);
  const attempt = () => execution.transact((tx) => plan(tx, execution, { runId: run.id, toolId }));
  try {
    // Another try of the call may be creating it right now: the second attempt then finds it.
    return await attempt().catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'already_exists') return attempt();
      throw error;
    });
  } catch (error) {
    if (error instanceof ScheduleProblem)
      return failed('invalid_arguments', `${argumentOf(error.field)} ${error.message}`, false, error.rule);
    if (error instanceof Failure && !error.retryable) return failed('invalid_arguments', error.detail, false, error.code);
    throw error;
  }
}

async function plan(
  tx: TenantTransaction,
  execution: ToolExecution,
  { runId, toolId }: { readonly runId: string; readonly toolId: string },
): Promise<ToolOutcome> {
  const { toolCallId, place, tool, args } = execution;
  const made = await readScheduleOfCall(tx, toolCallId);
  if (made) return outcomeOf(made.id, made.description, made.nextRunAt === null ? null : iso(made.nextRunAt));

  // The API has validated the config against its kind.
  const config = tool.config as unknown as ScheduleToolConfig;
  const principal = await readRunPrincipal(tx, runId);
  if (principal === null) return failed('tool_unavailable', 'the run is gone', false);
  const now = followedTime(tx.em);
  const times = timesOf(execution, config, now);
  const isOnce = times.runAt !== null;
  if (!config.allow.includes(isOnce ? 'once' : 'recurring'))
    return failed('invalid_arguments', isOnce ? 'this tool plans recurring runs only' : 'this tool plans single runs only', false, 'allow');
  const planned = planSchedule(times, now);
  refuseFarOrDense(planned, times, { config, now });
  if ((await countActiveOfTool(tx, { workspaceId: place.workspaceId, toolId })) >= config.max_active)
    return failed('invalid_arguments', `at most ${config.max_active} schedules of this tool may be open`, false, 'max_active');

  const prompt = String(args['prompt'] ?? '');
  const id = await createSchedule(tx, {
    ...place,
    agentId: config.agent === 'self' ? principal.agentId : config.agent.id,
    name: typeof args['name'] === 'string' ? args['name'] : prompt.slice(0, 60).toWellFormed(),
    description: planned.description,
    cron: times.cron,
    everySeconds: null,
    runAt: times.runAt === null ? null : new Date(times.runAt),
    timezone: times.timezone,
    dst,
    promptTemplate: literal(prompt),
    inputTemplate: null,
    sessionKeyTemplate: null,
    personaSlugTemplate: null,
    subjectTemplate: subjectOf(principal),
    overlap: 'skip',
    catchUpSeconds: 600,
    jitterSeconds: 0,
    startsAt: null,
    endsAt: times.endsAt === null ? null : new Date(times.endsAt),
    pauseAfterFailures: 0,
    isActive: true,
    compiled: planned.compiled,
    nextRunAt: planned.nextRunAt,
    createdByUserId: principal.userId,
    toolCallId,
    toolId,
    at: now,
  });
  return outcomeOf(id, planned.description, planned.nextRunAt === null ? null : iso(planned.nextRunAt));
}

function timesOf({ args, variables }: ToolExecution, config: ScheduleToolConfig, now: Date): ScheduleTimes {
  const at = typeof args['at'] === 'string' ? args['at'] : null;
  const cron = typeof args['cron'] === 'string' ? args['cron'] : null;
  if (at !== null && !/(?:Z|[+-]\d{2}:\d{2})$/i.test(at.trim()))
    throw new ScheduleProblem({ field: 'run_at', rule: 'format', message: 'needs an offset from UTC' });
  if (at !== null && Number.isNaN(Date.parse(at))) throw new ScheduleProblem({ field: 'run_at', rule: 'format', message: 'is no time' });
  const { workspace } = variables;
  const zone: unknown = workspace !== null && typeof workspace === 'object' ? Reflect.get(workspace, 'timezone') : undefined;
  return {
    cron,
    everySeconds: null,
    runAt: at === null ? null : new Date(at),
    timezone: typeof args['timezone'] === 'string' ? args['timezone'] : typeof zone === 'string' ? zone : 'UTC',
    dst,
    startsAt: null,
    endsAt: cron === null ? null : new Date(now.getTime() + config.horizon_days * dayMs),
    createdAt: now,
  };
}

/** Throws ScheduleProblem for a single run beyond the horizon, and for instants closer together than the tool allows. */
function refuseFarOrDense(plan: SchedulePlan, times: ScheduleTimes, { config, now }: { config: ScheduleToolConfig; now: Date }): void {
  if (times.runAt !== null) {
    if (new Date(times.runAt).getTime() > now.getTime() + config.horizon_days * dayMs)
      throw new ScheduleProblem({ field: 'run_at', rule: 'range', message: `lies more than ${config.horizon_days} days ahead` });
    return;
  }
  const strikes = strikesAfter(plan.timetable, { after: now.getTime(), count: instantsLookedAt });
  if (strikes.length === 0)
    throw new ScheduleProblem({ field: 'cron', rule: 'range', message: `never strikes within ${config.horizon_days} days` });
  const gaps = strikes.slice(1).map(({ at }, index) => at - (strikes[index]?.at ?? 0));
  if (Math.min(...gaps, Infinity) < config.min_interval_s * 1_000)
    throw new ScheduleProblem({ field: 'cron', rule: 'range', message: `strikes more often than every ${config.min_interval_s} s` });
}

/** Maps the field names of schedules on the wire to the names of the model's arguments. */
function argumentOf(field: string): string {
  if (field === 'run_at') return 'at';
  return field === 'cron' || field === 'timezone' ? field : 'at or cron';
}

/** Escapes a text so that a template renders it unchanged, whatever it contains. */
function literal(text: string): string {
  return text.replaceAll(/\{[{%]/g, (mark) => `{{ "${mark}" }}`);
}

function subjectOf({ subject }: RunPrincipal) {
  return subject === null ? null : { kind: subject.kind, id: literal(subject.id) };
}

function outcomeOf(id: string, description: string, nextRunAt: string | null): ToolOutcome {
  return { status: 'succeeded', type: 'json', value: { schedule_id: id, next_run_at: nextRunAt, description } };
}
