import { LockMode } from '@mikro-orm/core';
import { findLiveRun, findWritingRun, type KnowledgeBaseRow } from '../../../db/knowledge/bases/bases.ts';
import { KnowledgeBaseCounter } from '../../../db/knowledge/bases/knowledge-base-counter.entity.ts';
import {
  KnowledgeBase,
  type KnowledgeBaseKind,
  type KnowledgeChunking,
  type KnowledgeRetrieval,
  type KnowledgeSubjectKind,
} from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import { hasItems, noItem } from '../../../db/knowledge/items/relex-items.ts';
import { KnowledgeGrant } from '../../../db/knowledge/bases/knowledge-grant.entity.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import type { RowScope } from '../../../db/new-row-scope.ts';
import { assertActive, checkIfMatch, type Changing, type Scoped } from '../../../db/scope.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { endSchedule } from './policies.ts';
import { requestIndex } from '../items/request-index.ts';
import { seeBase, type BaseNeed } from './see-base.ts';

/** The values of a new base; owners, subject and model have been checked. */
export interface NewBase extends RowScope {
  readonly slug: string;
  readonly name: string;
  readonly kind: KnowledgeBaseKind;
  readonly ownerAgentId: string | null;
  readonly ownerPersonaId: string | null;
  readonly subjectKind: KnowledgeSubjectKind | null;
  readonly subjectId: string | null;
  readonly isPrivate: boolean;
  readonly embeddingModel: string;
  readonly embeddingDim: number;
  readonly chunking: KnowledgeChunking;
  readonly retrieval: KnowledgeRetrieval;
}

/** The settings of a base that a caller changes. */
export interface BaseChanges {
  readonly name?: string;
  readonly kind?: KnowledgeBaseKind;
  readonly isPrivate?: boolean;
  readonly isFrozen?: boolean;
  readonly chunking?: Partial<KnowledgeChunking>;
  readonly retrieval?: Partial<KnowledgeRetrieval>;
}

export interface BaseForChange {
  readonly base: KnowledgeBase;
  readonly before: KnowledgeBaseRow;
}

/**
 * Creates an empty base. A person who creates a private base without a subject gets a grant to manage it: without the grant only admins would find it again.
 */
export async function makeBase(ctx: Scoped, made: NewBase, at: Date): Promise<KnowledgeBase> {
  const { organizationId, workspaceId } = made;
  const rest = { predecessorId: null, successorId: null, relexedTo: null, lastConsolidatedAt: null, deletedAt: null };
  const base = ctx.em.create(KnowledgeBase, { ...made, ...rest, activatedAt: at });
  ctx.em.create(KnowledgeBaseCounter, { kbId: base.id, organizationId, workspaceId });
  await ctx.em.flush();
  if (made.isPrivate) await keepForCaller(ctx, base);
  return base;
}

/** Grants the caller access `manage` to a private base; a base with a subject belongs to the subject instead. */
async function keepForCaller(ctx: Scoped, { id: kbId, organizationId, workspaceId, subjectKind }: KnowledgeBase): Promise<void> {
  const { userId } = ctx.caller;
  if (subjectKind !== null || userId === null) return;
  const principal = { kbId, principalKind: 'user', principalId: userId, role: null } as const;
  const given = { access: 'manage', expiresAt: null } as const;
  const held = await ctx.em.findOne(KnowledgeGrant, principal);
  if (held) Object.assign(held, given);
  else ctx.em.create(KnowledgeGrant, { ...principal, ...given, organizationId, workspaceId, createdByUserId: userId });
  await ctx.em.flush();
}

/**
 * Loads and locks a base that is about to change. Throws 404 when the caller does not see it, 403 without the right, 412 and 428 by If-Match, 423 when its
 * workspace or organization is frozen.
 */
export async function seeBaseForChange(
  ctx: Changing,
  kbId: string,
  { need, openWhenSuspended = false }: { readonly need: BaseNeed; readonly openWhenSuspended?: boolean },
): Promise<BaseForChange> {
  const before = await seeBase(ctx, kbId, need);
  const base = await ctx.em.findOne(KnowledgeBase, { id: kbId, deletedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
  if (!base) throw fail('not_found');
  checkIfMatch(ctx, base.version);
  if (!openWhenSuspended) await assertActive(ctx.em, base);
  // Read again, since a run may have changed the base meanwhile.
  return { base, before: base.version === before.version ? before : await seeBase(ctx, kbId, need) };
}

/**
 * Changes the fields that are sent of a locked base; after a change of language its items are indexed again. A caller who makes it private gets a grant to
 * manage it, as for a new base. Throws 409 `superseded` and `reembed_in_progress` when the base can't be frozen or thawed, 423 for a new language of a frozen
 * base, 409 `run_in_progress` for a new language while a run writes to the base, 422 for an overlap as long as a chunk and for a subject's base that is to be
 * open.
 */
export async function changeBase(ctx: Changing, { base, before }: BaseForChange, changes: BaseChanges): Promise<void> {
  const { isFrozen, isPrivate, chunking, retrieval, ...rest } = changes;
  // The cut-over gives a building base the settings that the old base has by then.
  if (base.activatedAt === null) refuseThaw(base, before);
  if (isFrozen !== undefined && isFrozen !== base.isFrozen) refuseThaw(base, before);
  if (isPrivate === false) refuseOpenSubject(base.subjectKind);
  const nextChunking = { ...base.chunking, ...chunking };
  refuseOverlap(nextChunking);
  const nextRetrieval = { ...base.retrieval, ...retrieval };
  const isOtherLanguage = nextRetrieval.language !== base.retrieval.language;
  if (isOtherLanguage) await refuseLanguage(ctx, base, before);

  const turnsPrivate = isPrivate === true && !base.isPrivate;
  Object.assign(base, rest, {
    isFrozen: isFrozen ?? base.isFrozen,
    isPrivate: isPrivate ?? base.isPrivate,
    chunking: nextChunking,
    retrieval: nextRetrieval,
  });
  const isRelexed = isOtherLanguage && (await hasItems(ctx, base.id));
  if (isRelexed) base.relexedTo = noItem;
  await ctx.em.flush();
  if (turnsPrivate) await keepForCaller(ctx, base);
  if (isRelexed && base.organizationId !== null)
    await requestIndex(
      ctx,
      { id: base.id, organizationId: base.organizationId, workspaceId: base.workspaceId },
      `language:${base.version}`,
    );
}

/**
 * Deletes a locked base: no search or list shows it any more, and its slug is free. Throws 409 `run_in_progress` while a run works on it; 403 for a superseded
 * base, which only an operator may delete, because of the audit trail.
 */
export async function deleteBase(ctx: Changing, { base }: BaseForChange, at: Date): Promise<void> {
  if (base.successorId !== null && ctx.caller.role !== 'operator')
    throw fail('resource_forbidden', {
      reason: 'superseded',
      detail: 'Only an operator can delete a superseded knowledge base.',
    });
  const run = await findLiveRun(ctx, base.id);
  if (run)
    throw fail('state_conflict', {
      reason: 'run_in_progress',
      detail: 'A run is working on this knowledge base.',
      context: { run_id: run.id },
    });
  base.deletedAt = at;
  await ctx.em.flush();
  await endSchedule(ctx, base, await readPolicy(ctx, base.id));
}

/** Throws 422 for chunks that would repeat all of the preceding chunk. */
export function refuseOverlap({ size_tokens: size, overlap_tokens: overlap }: KnowledgeChunking): void {
  if (overlap >= size) throw invalid('/chunking/overlap_tokens', 'range', 'must be smaller than size_tokens');
}

/** Throws 422 for an open base of one user or guest, which everybody could read. */
export function refuseOpenSubject(subjectKind: KnowledgeSubjectKind | null): void {
  if (subjectKind !== null) throw invalid('/is_private', 'const', 'must be true for a base with a subject');
}

function refuseThaw({ successorId, activatedAt }: KnowledgeBase, { reembedRunId }: KnowledgeBaseRow): void {
  if (successorId !== null) throw fail('state_conflict', { reason: 'superseded', context: { successor_id: successorId } });
  if (activatedAt === null || reembedRunId !== null)
    throw fail('state_conflict', { reason: 'reembed_in_progress', context: reembedRunId === null ? {} : { run_id: reembedRunId } });
}

/** Refuses another language while a run would go on writing in the old one. */
async function refuseLanguage(ctx: Changing, base: KnowledgeBase, { reembedRunId }: KnowledgeBaseRow): Promise<void> {
  if (base.isFrozen) {
    const reason = base.successorId !== null ? 'superseded' : reembedRunId !== null ? 'reembed_in_progress' : 'frozen';
    throw fail('resource_frozen', { reason });
  }
  // No organization would pay for the workflow that indexes the items again.
  if (base.organizationId === null && (await hasItems(ctx, base.id)))
    throw fail('state_conflict', {
      reason: 'not_empty',
      detail: 'The items of this platform base are indexed in its language; the language can only be changed while the base is empty.',
    });
  const run = await findWritingRun(ctx, base.id);
  if (run)
    throw fail('state_conflict', {
      reason: 'run_in_progress',
      detail: 'A run is working on this knowledge base.',
      context: { run_id: run.id },
    });
}
