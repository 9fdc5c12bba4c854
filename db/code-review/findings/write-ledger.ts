import { sql } from 'kysely';
import type { FindingState } from '../../../workflows/contracts/review/code-review.ts';
import { anyId, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { recordset, recordsetText } from '../../recordset.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { insertFindings, type NewFinding, type NewFindings } from './insert-findings.ts';
import type { LedgerRow } from './ledger.ts';

const lockedPull = prepared(({ pullRequestId }: ParametersOf<{ readonly pullRequestId: string }>) =>
  query.selectFrom('review_pull_requests').select('id').where('id', '=', pullRequestId).forNoKeyUpdate(),
);

/** Locks the row of a pull request; every writer of its ledger locks it before anything else. */
export async function lockPullRow(tx: TenantTransaction, pullRequestId: string): Promise<void> {
  await row(tx.em, lockedPull({ pullRequestId }));
}

/** A finding as a review leaves it. */
export type FindingToKeep = Omit<LedgerRow, 'id' | 'state' | 'commentId' | 'firstHeadSha' | 'lastHeadSha'>;

/** A completed review, for the ledger of its pull request. */
export interface ReviewToKeep {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly findings: readonly FindingToKeep[];
  /** Ids of findings that were open so far, by their new state. */
  readonly carried: readonly string[];
  readonly fixed: readonly string[];
  readonly outdated: readonly string[];
}

const keeping = prepared((made: ParametersOf<NewFindings>) =>
  insertFindings(made).onConflict((conflict) =>
    conflict.columns(['pullRequestId', 'fingerprint']).doUpdateSet(({ case: choose, ref }) => ({
      state: choose()
        .when('review_findings.state', '=', 'dismissed')
        .then(ref('review_findings.state'))
        .else(sql.lit<FindingState>('open'))
        .end(),
      lastHeadSha: ref('excluded.lastHeadSha'),
      path: ref('excluded.path'),
      startLine: ref('excluded.startLine'),
      endLine: ref('excluded.endLine'),
      alsoAt: ref('excluded.alsoAt'),
      placement: choose()
        .when('review_findings.commentId', 'is', null)
        .then(ref('excluded.placement'))
        .else(ref('review_findings.placement'))
        .end(),
      updatedAt: now,
    })),
  ),
);

/**
 * Stores findings of a review: new ones are open; recurring ones are open again. An existing finding keeps its comment and the run that found it first, and one
 * that a person dismissed meanwhile stays dismissed.
 */
export async function keepFindings(tx: TenantTransaction, { runId, pullRequestId, headSha, ...review }: ReviewToKeep): Promise<void> {
  if (review.findings.length > 0) {
    const made = review.findings.map((finding): NewFinding => ({
      id: newId(),
      ...finding,
      confidence: String(finding.confidence),
      state: 'open',
      commentId: null,
      threadId: null,
    }));
    await change(tx.em, keeping({ runId, pullRequestId, headSha, findings: recordsetText(made) }));
  }
  await move(tx, { pullRequestId, headSha }, { ids: review.carried, to: 'open' });
  await move(tx, { pullRequestId, headSha }, { ids: review.fixed, to: 'fixed' });
  await move(tx, { pullRequestId, headSha }, { ids: review.outdated, to: 'outdated' });
}

interface Moved {
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly ids: readonly string[];
  readonly to: FindingState;
}

const moving = prepared(({ pullRequestId, headSha, ids, to }: ParametersOf<Moved>) =>
  query
    .updateTable('review_findings')
    .set({ state: to, lastHeadSha: headSha, updatedAt: now })
    .where('pullRequestId', '=', pullRequestId)
    .where('id', '=', anyId(ids))
    .where('state', '=', 'open'),
);

/** Only open findings change: a dismissal in between stays. */
async function move(
  tx: TenantTransaction,
  { pullRequestId, headSha }: Pick<ReviewToKeep, 'pullRequestId' | 'headSha'>,
  { ids, to }: Pick<Moved, 'ids' | 'to'>,
): Promise<void> {
  if (ids.length === 0) return;
  await change(tx.em, moving({ pullRequestId, headSha, ids: [...ids], to }));
}

/** The state from which the next review of the pull request begins. */
export interface ReviewedHeadToKeep {
  readonly pullRequestId: string;
  readonly headSha: string;
  readonly mergeBaseSha: string;
  readonly baseRef: string;
  readonly playbookRevisionId: string;
  readonly hashes: Readonly<Record<string, readonly string[]>>;
}

const keepingHead = prepared((reviewed: ParametersOf<Omit<ReviewedHeadToKeep, 'hashes'>>) =>
  query
    .updateTable('review_pull_requests')
    .set({
      lastHeadSha: reviewed.headSha,
      lastMergeBaseSha: reviewed.mergeBaseSha,
      lastBaseRef: reviewed.baseRef,
      lastPlaybookRevisionId: reviewed.playbookRevisionId,
      updatedAt: now,
    })
    .where('id', '=', reviewed.pullRequestId),
);

const droppingFiles = prepared(({ pullRequestId, paths }: ParametersOf<{ readonly pullRequestId: string; readonly paths: string[] }>) =>
  query
    .deleteFrom('review_files')
    .where('pullRequestId', '=', pullRequestId)
    .where('path', '<>', sql<string>`all(${paths}::text[])`),
);

interface JudgedFile {
  readonly path: string;
  readonly hashes: readonly string[];
}

const keepingFiles = prepared(({ pullRequestId, files }: ParametersOf<{ readonly pullRequestId: string; readonly files: string }>) =>
  insertFrom(
    'review_files',
    query
      .selectFrom(['review_pull_requests as p', recordset<JudgedFile>(files, { path: 'text', hashes: 'jsonb' }).as('c')])
      .where('p.id', '=', pullRequestId),
    ({ ref }) => ({
      pullRequestId: ref('p.id'),
      path: ref('c.path'),
      organizationId: ref('p.organizationId'),
      workspaceId: ref('p.workspaceId'),
      hunkHashes: sql<string[]>`array(select jsonb_array_elements_text(${ref('c.hashes')}))`,
      createdAt: now,
    }),
  ).onConflict((conflict) =>
    conflict.columns(['pullRequestId', 'path']).doUpdateSet(({ ref }) => ({ hunkHashes: ref('excluded.hunkHashes') })),
  ),
);

/** Replaces the judged hunks by those judged now. */
export async function keepReviewedHead(tx: TenantTransaction, reviewed: ReviewedHeadToKeep): Promise<void> {
  const { pullRequestId, headSha, mergeBaseSha, baseRef, playbookRevisionId, hashes } = reviewed;
  const files = Object.entries(hashes).map(([path, own]): JudgedFile => ({ path, hashes: own }));
  await change(tx.em, keepingHead({ pullRequestId, headSha, mergeBaseSha, baseRef, playbookRevisionId }));
  await change(tx.em, droppingFiles({ pullRequestId, paths: files.map(({ path }) => path) }));
  await change(tx.em, keepingFiles({ pullRequestId, files: recordsetText(files) }));
}
