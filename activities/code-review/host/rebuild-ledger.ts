import { cancellationSignal } from '@temporalio/activity';
import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import { readRunMarker, summaryOrdinal } from '../../../domain/code-review/pipeline/markers.ts';
import { keepReadBackLedger } from '../../../domain/code-review/posting/posted-findings.ts';
import { readBack } from '../../../domain/code-review/posting/read-back.ts';
import type { FilePatch } from '../../../ports/diff/patch.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import { listComments, listReviews, type HostText } from '../../../ports/github/reviews.ts';
import { listThreads } from '../../../ports/github/threads.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsSystem } from '../../support/as-system.ts';
import { onHost } from './host-failure.ts';

export interface LedgerSource {
  readonly run: ReviewRun;
  readonly client: RepositoryClient;
  readonly headSha: string;
  /** The change at the head. */
  readonly patches: readonly FilePatch[];
}

/**
 * Rebuilds the ledger of a pull request from what our App has posted there, for a pull request without a known review. Comments of others are ignored, whatever
 * marker they carry. Returns how many findings it has written. Host errors are thrown as the workflow's failures.
 */
export async function rebuildLedger(deps: ActivityDeps, { run, client, headSha, patches }: LedgerSource): Promise<number> {
  const { pull, binding, runId } = run;
  const signal = cancellationSignal();
  const { comments, login, threads, reviews } = await onHost(async () => {
    const found = await listComments(client, pull.pullNumber, signal);
    const written = await listReviews(client, pull.pullNumber, signal);
    const isEmpty = found.length + written.length === 0;
    const self = isEmpty ? '' : (await client.self(signal)).login;
    const isOurs = found.some(({ author }) => author === self);
    return { comments: found, reviews: written, login: self, threads: isOurs ? await listThreads(client, pull.pullNumber, signal) : [] };
  });
  const findings = readBack(comments, { threads, login, bindingId: binding.id, patches });
  const summary = reviews.find(({ author, body }) => author === login && isSummary(body));
  return transactAsSystem(deps, (tx) =>
    keepReadBackLedger(tx, {
      pullRequestId: pull.id,
      runId,
      headSha,
      findings,
      summary: summary && pull.summaryReviewId === null ? { reviewId: summary.id, text: summary.body } : null,
    }),
  );
}

/** A summary has text beside the marker of its run. */
function isSummary(body: HostText['body']): boolean {
  const marker = readRunMarker(body);
  if (marker === null || (marker.ordinal !== 0 && marker.ordinal !== summaryOrdinal)) return false;
  return body.replaceAll(/<!--[\s\S]*?-->/gu, '').trim() !== '';
}
