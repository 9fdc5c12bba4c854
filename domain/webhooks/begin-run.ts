import { refuseUnready } from '../runs/start/start-refusals.ts';
import { startRuns, type StartedRun } from '../runs/start/start-run.ts';
import { resolveStarts } from '../runs/start/start-target.ts';
import { isActiveUserOf } from '../../db/triggers/active-users.ts';
import type { StartCause, StartRun } from '../../db/runs/start/start-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Hook } from '../../db/webhooks/hooks.ts';
import type { DeliveryWarning } from '../../db/webhooks/webhook-delivery.entity.ts';
import { Failure, fail } from '../../workflows/contracts/failure.ts';

/** The templates of an endpoint, filled for one request. */
export interface FilledTexts {
  readonly prompt: string;
  readonly input: Record<string, unknown> | null;
  readonly sessionKey: string | null;
  readonly personaSlug: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** The contents of a hook's run. */
export interface RunOfHook extends RunOfOrigin {
  /** How many hooks the cause has passed through before this one. */
  readonly hops: number;
}

/** What starts a run on an occasion: an endpoint, or an event trigger. */
export interface RunOrigin {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly source: 'webhook' | 'event';
  readonly cause: StartCause;
}

/** The contents of its run. */
export interface RunOfOrigin {
  readonly texts: FilledTexts;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
}

/** Returns the refusal and the warnings that a start would yield. Writes nothing. */
export async function judgeStart(
  tx: TenantTransaction,
  hook: Hook,
  start: RunOfHook,
): Promise<{ readonly refusal: Failure | null; readonly warnings: readonly DeliveryWarning[] }> {
  const subjectRefusal = await refusalOfSubject(tx, hook, start.texts);
  if (subjectRefusal) return { refusal: subjectRefusal, warnings: [] };
  const origin = originOf(hook, start);
  const judge = async (personaSlug: string | null) => {
    const starts = [toStartRun(origin, start, personaSlug)];
    const [target] = refuseUnready(starts, await resolveStarts(tx, starts));
    return target instanceof Failure ? target : null;
  };
  const refusal = await judge(start.texts.personaSlug);
  if (!isUnknownPersona(refusal)) return { refusal: refusal && forSender(refusal), warnings: [] };
  const withDefault = await judge(null);
  return { refusal: withDefault && forSender(withDefault), warnings: [unknownPersona] };
}

const unknownPersona: DeliveryWarning = {
  code: 'persona_unknown',
  field: 'persona_slug_template',
  message: 'The agent has no active persona of this name; the run uses the default one.',
};

/**
 * Starts the run of a hook; an unknown persona falls back to the default, with a warning. Returns the failure of a refused start, in terms of its sender;
 * nothing is written then.
 */
export function beginRun(tx: TenantTransaction, hook: Hook, start: RunOfHook): Promise<BegunRun> {
  return beginRunOf(tx, originOf(hook, start), start);
}

/** The outcome of a start. */
export interface BegunRun {
  readonly outcome: StartedRun | Failure;
  readonly warnings: readonly DeliveryWarning[];
}

/** The same for any origin of runs. */
export async function beginRunOf(tx: TenantTransaction, origin: RunOrigin, start: RunOfOrigin): Promise<BegunRun> {
  const subjectRefusal = await refusalOfSubject(tx, origin, start.texts);
  if (subjectRefusal) return { outcome: subjectRefusal, warnings: [] };

  const begin = async (personaSlug: string | null) => {
    const [outcome] = await startRuns(tx, [toStartRun(origin, start, personaSlug)]);
    if (outcome === undefined) throw new Error('a start gave nothing');
    return outcome;
  };
  const outcome = await begin(start.texts.personaSlug);
  if (!(outcome instanceof Failure)) return { outcome, warnings: [] };
  if (!isUnknownPersona(outcome)) return { outcome: forSender(outcome), warnings: [] };

  // A refused start has written nothing.
  const withDefault = await begin(null);
  return { outcome: withDefault instanceof Failure ? forSender(withDefault) : withDefault, warnings: [unknownPersona] };
}

function toStartRun(origin: RunOrigin, { texts, currency }: RunOfOrigin, personaSlug: string | null): StartRun {
  return {
    workspaceId: origin.workspaceId,
    defaultWorkspaceId: null,
    agent: { id: origin.agentId },
    revisionId: null,
    personaSlug,
    input: { text: texts.prompt, ...(texts.input === null ? {} : { json: texts.input }) },
    sessionKey: texts.sessionKey,
    subject: texts.subject,
    source: origin.source,
    triggerId: origin.id,
    createdBy: { kind: 'system', id: null, actingUserId: null },
    onBusy: 'enqueue',
    limits: {},
    metadata: {},
    currency,
    cause: origin.cause,
  };
}

/** A request from outside is untrusted, and without a verified sender the run may change nothing. */
function originOf({ id, organizationId, workspaceId, agentId, verification }: Hook, { hops }: RunOfHook): RunOrigin {
  const cause = { untrusted: true, hops, ...(verification === 'none' ? { maxEffect: 'read' as const } : {}) };
  return { id, organizationId, workspaceId, agentId, source: 'webhook', cause };
}

async function refusalOfSubject(
  tx: TenantTransaction,
  place: Pick<RunOrigin, 'organizationId' | 'workspaceId'>,
  { subject }: FilledTexts,
): Promise<Failure | null> {
  if (subject?.kind !== 'user' || (await isActiveUserOf(tx, place, subject.id))) return null;
  return fail('state_conflict', {
    reason: 'subject_unknown',
    detail: 'The user for whom the run would work is not active in the workspace.',
  });
}

function isUnknownPersona(failure: Failure | null): boolean {
  return failure?.errors.some(({ pointer }) => pointer === '/persona_slug') ?? false;
}

/** Converts a refusal into terms of the request, which has none of the fields at which a start's failure would point. */
function forSender(failure: Failure): Failure {
  if (failure.code !== 'validation_failed') return failure;
  return fail('state_conflict', {
    reason: 'agent_unusable',
    detail: 'The agent of the endpoint cannot be started with the rendered input.',
  });
}
