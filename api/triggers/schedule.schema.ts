import Type, { type Static } from 'typebox';
import type { ScheduleViewRow } from '../../db/schedules/schedule-queries.ts';
import { iso } from '../../db/sql.ts';
import { overlaps, scheduleSyncStates } from '../../db/triggers/schedule.entity.ts';
import type { ScheduleFields } from '../../domain/schedules/schedule-rules.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, exactlyOneOf, FreeObject, idOf, integer, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';
import { SubjectTemplate } from './webhook-endpoint.schema.ts';

export const ScheduleParams = closed({ schedule_id: idOf('Schedule', 'The schedule, by the id that `GET /schedules` shows') });

const Cron = text(200, {
  minLength: 1,
  description:
    'Five fields as in crontab(5): minute, hour, day of month, month, day of week; also L, d#n and dL for days, and @hourly, @daily, @weekly, @monthly, @yearly',
});
const EverySeconds = integer({
  minimum: 60,
  maximum: 31_536_000,
  description: 'Seconds from one run to the next, counted from starts_at, else from the creation',
});
const RunAt = { ...Timestamp, description: 'The single time at which it runs' };
const Timezone = text(100, { minLength: 1, description: 'IANA name of the time zone in which cron is evaluated' });
const Dst = closed(
  {
    gap: oneOf(['shift', 'skip'], {
      description: 'A time that the clocks skip: runs once at the first time after the gap, or not at all',
    }),
    repeat: oneOf(['once', 'twice'], { description: 'A time that the clocks show twice: runs at the first occurrence, or at both' }),
  },
  { $id: 'ScheduleDst', description: 'How cron behaves when clocks change; no effect if its hour field is *' },
);
const StartsAt = { ...Timestamp, description: 'Earliest time at which it runs; null: from its creation on' };
const EndsAt = { ...Timestamp, description: 'Latest time at which it runs; null: no end' };

/** The optional fields that define when a schedule runs: common to its creation, its change and a preview. */
export const times = {
  cron: Type.Optional(nullable(Cron)),
  every_seconds: Type.Optional(nullable(EverySeconds)),
  run_at: Type.Optional(nullable(RunAt)),
  timezone: Type.Optional({ ...Timezone, default: 'UTC' }),
  dst: Type.Optional(Dst),
  starts_at: Type.Optional(nullable(StartsAt)),
  ends_at: Type.Optional(nullable(EndsAt)),
} as const;

const Name = text(200, { minLength: 1, description: 'What it is called' });
const Prompt = text(65_536, {
  minLength: 1,
  description: 'Liquid template with schedule (id, name, nominal_at, local_time) and now: the input of each run',
});
const InputTemplate = {
  ...FreeObject,
  description: 'JSON input of each run, whose texts are templates; a text that is exactly one {{ path }} keeps the type of its value',
};
const SessionKey = text(400, {
  description: 'Runs with the same key are turns of one conversation; null: each run is a separate conversation',
});
const PersonaSlug = text(400, { description: 'Persona of each run; null, or a persona that the agent does not have: the agent’s default' });
const Overlap = oneOf(overlaps, {
  description:
    'What to do while another run of the schedule is live: skip, buffer_one until that run has ended, cancel_other, or allow_all to run concurrently',
});
const CatchUp = integer({ minimum: 10, maximum: 604_800, description: 'How late an occurrence can still start; after that, it is missed' });
const Jitter = integer({
  maximum: 3_600,
  description: 'A run starts with a delay of up to this much, but never after the next occurrence',
});
const PauseAfter = integer({ maximum: 100, description: 'Number of consecutive failures that pause it; 0: never' });
const IsActive = Type.Boolean({ description: 'false: paused. Occurrences that are due while it is paused are dropped' });
const PauseReason = text(200, {
  description: 'Why it is paused: a reason given by a person, or failures, agent_deleted, workspace_archived, organization_suspended',
});

export const ScheduleView = closed(
  {
    id: idOf('Schedule'),
    agent_id: idOf('Agent', 'The agent whose runs it starts'),
    name: Name,
    description: text(2_000, { description: 'When it runs, in plain words' }),
    cron: nullable(Cron),
    every_seconds: nullable(EverySeconds),
    run_at: nullable(RunAt),
    timezone: Timezone,
    dst: Dst,
    prompt_template: Prompt,
    input_template: nullable(InputTemplate),
    session_key_template: nullable(SessionKey),
    persona_slug_template: nullable(PersonaSlug),
    subject_template: nullable(SubjectTemplate),
    overlap: Overlap,
    catch_up_seconds: CatchUp,
    jitter_seconds: Jitter,
    starts_at: nullable(StartsAt),
    ends_at: nullable(EndsAt),
    pause_after_failures: PauseAfter,
    is_active: IsActive,
    pause_reason: nullable(PauseReason),
    next_run_at: nullable({ ...Timestamp, description: 'The next occurrence, without jitter; null if there is none or it is paused' }),
    last_occurrence_at: nullable({ ...Timestamp, description: 'The last occurrence that was due; null if there was none' }),
    sync_state: oneOf(scheduleSyncStates, {
      description:
        'Whether the scheduler is in sync with this schedule: pending briefly after a change, error while the scheduler does not accept it',
    }),
    created_by_user_id: nullable(idOf('User', 'Who made it; null: a key, or the platform')),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'ScheduleView', description: 'A schedule that starts runs of an agent' },
);

const changeable = {
  ...times,
  input_template: Type.Optional(nullable(InputTemplate)),
  session_key_template: Type.Optional(nullable(SessionKey)),
  persona_slug_template: Type.Optional(nullable(PersonaSlug)),
  subject_template: Type.Optional(nullable(SubjectTemplate)),
  overlap: Type.Optional({ ...Overlap, default: 'skip' as const }),
  catch_up_seconds: Type.Optional({ ...CatchUp, default: 600 }),
  jitter_seconds: Type.Optional({ ...Jitter, default: 0 }),
  pause_after_failures: Type.Optional({ ...PauseAfter, default: 0 }),
  is_active: Type.Optional({ ...IsActive, default: true }),
  pause_reason: Type.Optional(nullable(PauseReason)),
} as const;

/** Without the defaults of a new one: what a change leaves out stays. */
const kept = {
  ...changeable,
  timezone: Type.Optional(Timezone),
  overlap: Type.Optional(Overlap),
  catch_up_seconds: Type.Optional(CatchUp),
  jitter_seconds: Type.Optional(Jitter),
  pause_after_failures: Type.Optional(PauseAfter),
  is_active: Type.Optional(IsActive),
} as const;

export const ScheduleCreate = stating(
  closed(
    {
      workspace_id: Type.Optional(nullable(idOf('Workspace'))),
      agent_id: idOf('Agent', 'The agent whose runs it starts; in its workspace or a wider scope'),
      name: Name,
      prompt_template: Prompt,
      ...changeable,
    },
    { $id: 'ScheduleCreate', description: 'A new schedule, with exactly one of cron, every_seconds and run_at' },
  ),
  exactlyOneOf('cron', 'every_seconds', 'run_at'),
);

export const ScheduleUpdate = closed(
  { name: Type.Optional(Name), prompt_template: Type.Optional(Prompt), ...kept },
  {
    $id: 'ScheduleUpdate',
    description: 'The fields that are sent are changed, the rest is kept. Each of cron, every_seconds and run_at replaces the others',
  },
);

export const ScheduleFilters = closed({
  agent_id: Type.Optional(idOf('Agent', 'Only schedules of this agent')),
  is_active: Type.Optional(Type.Boolean({ description: 'Only active schedules, or only paused ones' })),
  q: Type.Optional(text(200, { minLength: 1, description: 'Text in the name' })),
});

type Create = Static<typeof ScheduleCreate>;
type Update = Static<typeof ScheduleUpdate>;

/** The default settings of a schedule. */
const defaults = {
  cron: null,
  everySeconds: null,
  runAt: null,
  timezone: 'UTC',
  dst: { gap: 'shift', repeat: 'once' },
  startsAt: null,
  endsAt: null,
  inputTemplate: null,
  sessionKeyTemplate: null,
  personaSlugTemplate: null,
  subjectTemplate: null,
  overlap: 'skip',
  catchUpSeconds: 600,
  jitterSeconds: 0,
  pauseAfterFailures: 0,
  isActive: true,
  pauseReason: null,
} as const satisfies Partial<ScheduleFields>;

/** The fields of a new schedule. */
export function newScheduleFields(body: Create): ScheduleFields {
  return { ...defaults, ...changedScheduleFields(body), name: body.name, promptTemplate: body.prompt_template };
}

/** The times that a preview asks about. */
export function previewedTimes(body: Static<ReturnType<typeof closed<typeof times>>>) {
  return { ...defaults, ...changedScheduleFields(body) };
}

/** The fields that a body sets. */
export function changedScheduleFields(body: Update): Partial<ScheduleFields> {
  const instant = (at: string | null | undefined) => (typeof at === 'string' ? new Date(at) : at);

  return fieldsSet<ScheduleFields>({
    name: body.name,
    promptTemplate: body.prompt_template,
    cron: body.cron,
    everySeconds: body.every_seconds,
    runAt: instant(body.run_at),
    timezone: body.timezone,
    dst: body.dst,
    startsAt: instant(body.starts_at),
    endsAt: instant(body.ends_at),
    inputTemplate: body.input_template,
    sessionKeyTemplate: body.session_key_template,
    personaSlugTemplate: body.persona_slug_template,
    subjectTemplate: body.subject_template,
    overlap: body.overlap,
    catchUpSeconds: body.catch_up_seconds,
    jitterSeconds: body.jitter_seconds,
    pauseAfterFailures: body.pause_after_failures,
    isActive: body.is_active,
    pauseReason: body.pause_reason,
  });
}

/** The wire form of a schedule. */
export function toScheduleView(row: ScheduleViewRow): Static<typeof ScheduleView> {
  return {
    id: row.id,
    agent_id: row.agentId,
    name: row.name,
    description: row.description,
    cron: row.cron,
    every_seconds: row.everySeconds,
    run_at: iso(row.runAt),
    timezone: row.timezone,
    dst: row.dst,
    prompt_template: row.promptTemplate,
    input_template: row.inputTemplate,
    session_key_template: row.sessionKeyTemplate,
    persona_slug_template: row.personaSlugTemplate,
    subject_template: row.subjectTemplate,
    overlap: row.overlap,
    catch_up_seconds: row.catchUpSeconds,
    jitter_seconds: row.jitterSeconds,
    starts_at: iso(row.startsAt),
    ends_at: iso(row.endsAt),
    pause_after_failures: row.pauseAfterFailures,
    is_active: row.isActive,
    pause_reason: row.pauseReason,
    next_run_at: row.isActive ? iso(row.nextRunAt) : null,
    last_occurrence_at: iso(row.lastOccurrenceAt),
    sync_state: row.syncState,
    created_by_user_id: row.createdByUserId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
