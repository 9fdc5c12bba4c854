import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A finding of a pull request's ledger. */
export type LedgerRow = Awaited<ReturnType<typeof readLedger>>[number];

const ledgerOf = prepared(({ pullRequestId }: ParametersOf<{ readonly pullRequestId: string }>) =>
  query
    .selectFrom('review_findings as f')
    .select(['f.id', 'f.fingerprint', 'f.ruleId', 'f.category', 'f.severity', 'f.path', 'f.side', 'f.startLine', 'f.endLine'])
    .select(({ ref }) => sql<number>`${ref('f.confidence')}::float8`.as('confidence'))
    .select(['f.title', 'f.scenario', 'f.evidence', 'f.suggestion', 'f.state', 'f.placement', 'f.commentId', 'f.alsoAt'])
    .select(['f.firstHeadSha', 'f.lastHeadSha'])
    .where('f.pullRequestId', '=', pullRequestId)
    .orderBy('f.id'),
);

/** Returns all findings of a pull request, oldest first. */
export function readLedger(tx: Pick<TenantTransaction, 'em'>, pullRequestId: string) {
  return rows(tx.em, ledgerOf({ pullRequestId }));
}

const judgedFiles = prepared(({ pullRequestId }: ParametersOf<{ readonly pullRequestId: string }>) =>
  query.selectFrom('review_files as f').select(['f.path', 'f.hunkHashes']).where('f.pullRequestId', '=', pullRequestId),
);

/** Returns, by path, the hashes of the hunks that the last review judged. */
export async function readJudgedHashes(tx: Pick<TenantTransaction, 'em'>, pullRequestId: string): Promise<Map<string, string[]>> {
  const found = await rows(tx.em, judgedFiles({ pullRequestId }));
  return new Map(found.map(({ path, hunkHashes }) => [path, hunkHashes]));
}
