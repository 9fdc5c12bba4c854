import type Type from 'typebox';
import { attachmentsForRun, type AttachmentRef } from '../../db/attachments/run-attachments.ts';
import { refuseRank } from '../../db/reach.ts';
import type { StartRun } from '../../db/runs/start-run.ts';
import { seesUser } from '../../db/tenancy/users.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import { checkBytes, checkKeys } from '../http/bounds.ts';
import type { Ctx } from '../http/operation.ts';
import type { RunCreate } from './run.schema.ts';

type Body = Type.Static<typeof RunCreate>;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * A start as the caller asks for it. Throws 422 for what the schema alone can't refuse. Its `admit` throws 403 below the floor, 422 for a user
 * out of the caller's sight, 403 for another user's subject below admin.
 */
export function toStartRun(ctx: Ctx, body: Body): StartRun {
  const { caller } = ctx;
  refuseShape(body);
  const subject = subjectOf(ctx, body);

  return {
    workspaceId: body.workspace_id ?? null,
    defaultWorkspaceId: caller.view?.workspaceId ?? caller.workspaceId,
    agent: agentOf(body),
    revisionId: body.revision_id ?? null,
    personaSlug: body.persona_slug ?? null,
    input: {
      ...(body.input.text === undefined ? {} : { text: body.input.text }),
      ...(body.input.json === undefined ? {} : { json: body.input.json }),
    },
    attachments: (workspaceId) => findAttachments(ctx, body, workspaceId),
    sessionKey: body.session_key ?? null,
    subject,
    source: ctx.source,
    createdBy: {
      kind: caller.kind === 'user' || caller.kind === 'service_key' ? caller.kind : 'system',
      id: caller.principalId,
      // Inside an impersonation the operator works as its target.
      actingUserId: caller.impersonationId === null ? caller.actingUserId : caller.userId,
    },
    onBusy: body.on_busy ?? 'enqueue',
    limits: body.limits ?? {},
    metadata: body.metadata ?? {},
    currency: ctx.deps.env.billingCurrency,
    admit: async ({ organizationId, workspaceId }) => {
      refuseRank(caller, workspaceId, ctx.floor);
      if (subject?.kind !== 'user' || subject.id === caller.userId) return;
      await requireUser(ctx, { userId: subject.id, organizationId });
      refuseRank(caller, workspaceId, 'admin');
    },
  };
}

/** For whom the agent works: the caller unless somebody is named. Ids of users have one spelling, names of guests are their own. */
function subjectOf({ caller }: Ctx, { subject }: Body): StartRun['subject'] {
  if (!subject) return caller.userId === null ? null : { kind: 'user', id: caller.userId };
  return subject.kind === 'user' ? { kind: 'user', id: subject.id.toLowerCase() } : subject;
}

function findAttachments(ctx: Ctx, { input }: Body, workspaceId: string): Promise<AttachmentRef[]> {
  const ids = input.attachments?.map((file) => file.attachment_id) ?? [];
  return ids.length === 0 ? Promise.resolve([]) : attachmentsForRun(ctx, ids, workspaceId);
}

function refuseShape(body: Body): void {
  if ((body.agent_id === undefined) === (body.agent_slug === undefined)) throw exactlyOne();
  if (body.input.text === undefined && body.input.json === undefined) throw invalid('/input', 'required', 'text or json is demanded');
  const files = body.input.attachments?.map((file) => file.attachment_id) ?? [];
  if (new Set(files).size < files.length) throw invalid('/input/attachments', 'uniqueItems', 'a file is named twice');
  checkKeys('/metadata', body.metadata, 50);
  checkBytes('/metadata', body.metadata, 8_192);
}

function agentOf(body: Body): StartRun['agent'] {
  if (body.agent_id !== undefined) return { id: body.agent_id };
  if (body.agent_slug !== undefined) return { slug: body.agent_slug };
  throw exactlyOne();
}

function exactlyOne() {
  const message = 'exactly one of agent_id and agent_slug is demanded';
  const errors: Violation[] = [{ in: 'body', pointer: '', name: null, rule: 'oneOf', message }];
  return fail('validation_failed', { detail: message, errors });
}

async function requireUser(ctx: Ctx, place: { readonly userId: string; readonly organizationId: string }): Promise<void> {
  if (uuid.test(place.userId) && (await seesUser(ctx, place))) return;
  throw invalid('/subject/id', 'reference', 'The user does not exist.', { kind: 'user' });
}
