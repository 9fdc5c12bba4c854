import type Type from 'typebox';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import { checkBytes, checkKeys } from '../http/input/bounds.ts';
import type { Ctx } from '../http/operation/operation.ts';
import type { RunCreate } from './run.schema.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

type Body = Type.Static<typeof RunCreate>;

const maxDelayMs = 366 * 86_400_000;

/** A start as the caller asks for it, bound by what it sees and may. Throws 422 for what the schema alone can't refuse. */
export function toStartRun(ctx: Ctx, body: Body): StartRun {
  const { caller } = ctx;
  refuseShape(body, ctx.deps.now());
  if (body.input === undefined) throw invalid('/input', 'required', 'is required unless review is given');
  const { attachmentIds, ...input } = inputOf(body.input);
  return {
    workspaceId: body.workspace_id ?? null,
    defaultWorkspaceId: caller.view?.workspaceId ?? caller.workspaceId,
    agent: agentOf(body),
    revisionId: body.revision_id ?? null,
    personaSlug: body.persona_slug ?? null,
    input,
    attachmentIds,
    sessionKey: body.session_key ?? null,
    subject: subjectOf(ctx, body),
    onBusy: body.on_busy ?? 'enqueue',
    limits: body.limits ?? {},
    metadata: body.metadata ?? {},
    startAfter: body.start_after ? new Date(body.start_after) : null,
    ...startedBy(ctx),
  };
}

/** Who starts, and at whose expense: alike in every start that a request asks for. */
export function startedBy(ctx: Ctx) {
  const { caller, deps } = ctx;
  return {
    source: ctx.source,
    createdBy: {
      kind: caller.kind === 'user' || caller.kind === 'service_key' ? caller.kind : 'system',
      id: caller.principalId,
      // Inside an impersonation the operator works as its target.
      actingUserId: caller.impersonationId === null ? caller.actingUserId : caller.userId,
    },
    currency: deps.env.billingCurrency,
    pricing: { modelOf: deps.models.resolve, unpriced: deps.env.unpricedModel },
    starter: { ctx, floor: ctx.floor },
  } satisfies Partial<StartRun>;
}

/** For whom the agent works: the caller, unless a subject is given. Ids of users are normalized, names of guests are kept as they are. */
function subjectOf({ caller }: Ctx, { subject }: Body): StartRun['subject'] {
  if (!subject) return caller.userId === null ? null : { kind: 'user', id: caller.userId };
  return subject.kind === 'user' ? { kind: 'user', id: subject.id.toLowerCase() } : subject;
}

/** An input as it was sent; its files are looked up by their ids. Throws 422 for one that says nothing or names a file twice. */
export function inputOf({ text, json, attachments = [] }: NonNullable<Body['input']>) {
  if (text === undefined && json === undefined) throw invalid('/input', 'required', 'text or json is required');
  const attachmentIds = attachments.map((file) => file.attachment_id);
  if (new Set(attachmentIds).size < attachmentIds.length)
    throw invalid('/input/attachments', 'uniqueItems', 'an attachment is named twice');
  return { ...(text === undefined ? {} : { text }), ...(json === undefined ? {} : { json }), attachmentIds };
}

function refuseShape(body: Body, now: Date): void {
  if ((body.agent_id === undefined) === (body.agent_slug === undefined)) throw exactlyOne();
  refuseDelay(body, now);
  checkKeys('/metadata', body.metadata, 50);
  checkBytes('/metadata', body.metadata, 8_192);
}

function refuseDelay({ start_after: startAfter, mode }: Body, now: Date): void {
  if (!startAfter) return;
  if (mode === 'wait') throw invalid('/start_after', 'excludes', 'a run with start_after cannot be waited for', { excludes: 'mode' });
  if (new Date(startAfter).getTime() > now.getTime() + maxDelayMs)
    throw invalid('/start_after', 'maximum', 'must be at most 366 days ahead');
}

function agentOf(body: Body): StartRun['agent'] {
  if (body.agent_id !== undefined) return { id: body.agent_id };
  if (body.agent_slug !== undefined) return { slug: body.agent_slug };
  throw exactlyOne();
}

function exactlyOne() {
  const message = 'exactly one of agent_id and agent_slug is required';
  const errors: Violation[] = [{ in: 'body', pointer: '', name: null, rule: 'oneOf', message }];
  return fail('validation_failed', { detail: message, errors });
}
