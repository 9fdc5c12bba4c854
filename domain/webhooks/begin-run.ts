import { isActiveUserOf } from '../../db/triggers/start-scheduled.ts';
import { refuseUnready } from '../../db/runs/start-refusals.ts';
import { startRuns, type StartedRun, type StartRun } from '../../db/runs/start-run.ts';
import { resolveStarts } from '../../db/runs/start-target.ts';
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

/** What a run of a hook is about. */
export interface RunOfHook {
  readonly texts: FilledTexts;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** How many hooks its cause has come through before this one. */
  readonly hops: number;
}

/** What a start would be refused for, and what it would warn of. Writes nothing. */
export async function judgeStart(
  tx: TenantTransaction,
  hook: Hook,
  start: RunOfHook,
): Promise<{ readonly refusal: Failure | null; readonly warnings: readonly DeliveryWarning[] }> {
  const subjectRefusal = await refusalOfSubject(tx, hook, start.texts);
  if (subjectRefusal) return { refusal: subjectRefusal, warnings: [] };
  const judge = async (personaSlug: string | null) => {
    const starts = [toStartRun(hook, start, personaSlug)];
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
  message: 'The agent has no such active persona; the run has its default.',
};

/**
 * Starts the run of a hook; an unknown persona falls back to the default, with a warning. Gives the failure of what can't be started, in terms of its sender; it has
 * written nothing.
 */
export async function beginRun(
  tx: TenantTransaction,
  hook: Hook,
  start: RunOfHook,
): Promise<{ readonly outcome: StartedRun | Failure; readonly warnings: readonly DeliveryWarning[] }> {
  const subjectRefusal = await refusalOfSubject(tx, hook, start.texts);
  if (subjectRefusal) return { outcome: subjectRefusal, warnings: [] };

  const begin = async (personaSlug: string | null) => {
    const [outcome] = await startRuns(tx, [toStartRun(hook, start, personaSlug)]);
    if (outcome === undefined) throw new Error('a start gave nothing');
    return outcome;
  };
  const outcome = await begin(start.texts.personaSlug);
  if (!(outcome instanceof Failure)) return { outcome, warnings: [] };
  if (!isUnknownPersona(outcome)) return { outcome: forSender(outcome), warnings: [] };

  // A start that is refused has written nothing.
  const withDefault = await begin(null);
  return { outcome: withDefault instanceof Failure ? forSender(withDefault) : withDefault, warnings: [unknownPersona] };
}

function toStartRun(hook: Hook, { texts, currency, hops }: RunOfHook, personaSlug: string | null): StartRun {
  return {
    workspaceId: hook.workspaceId,
    defaultWorkspaceId: null,
    agent: { id: hook.agentId },
    revisionId: null,
    personaSlug,
    input: { text: texts.prompt, ...(texts.input === null ? {} : { json: texts.input }) },
    sessionKey: texts.sessionKey,
    subject: texts.subject,
    source: 'webhook',
    triggerId: hook.id,
    createdBy: { kind: 'system', id: null, actingUserId: null },
    onBusy: 'enqueue',
    limits: {},
    metadata: {},
    currency,
    // What a stranger sends is nobody's instruction, and where nobody proves who sent it the run changes nothing.
    cause: { untrusted: true, hops, ...(hook.verification === 'none' ? { maxEffect: 'read' as const } : {}) },
  };
}

async function refusalOfSubject(tx: TenantTransaction, hook: Hook, { subject }: FilledTexts): Promise<Failure | null> {
  if (subject?.kind !== 'user' || (await isActiveUserOf(tx, hook, subject.id))) return null;
  return fail('state_conflict', {
    reason: 'subject_unknown',
    detail: 'The user for whom the run would work is not active in the workspace.',
  });
}

function isUnknownPersona(failure: Failure | null): boolean {
  return failure?.errors.some(({ pointer }) => pointer === '/persona_slug') ?? false;
}

/** A refusal in terms of the request that came: it has none of the fields that a start would point at. */
function forSender(failure: Failure): Failure {
  if (failure.code !== 'validation_failed') return failure;
  return fail('state_conflict', {
    reason: 'agent_unusable',
    detail: 'The agent of the endpoint can not be started with what the endpoint makes of the request.',
  });
}
