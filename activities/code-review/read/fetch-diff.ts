import { cancellationSignal } from '@temporalio/activity';
import { readAnswer } from '../../../db/code-review/findings/answers.ts';
import { keepAnswer, recordReviewHead } from '../../../domain/code-review/run-work.ts';
import { readJudgedHashes, readLedger, type LedgerRow } from '../../../db/code-review/findings/ledger.ts';
import { readReviewRun, type ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { ReviewMaterial } from '../../../domain/code-review/pipeline/material.ts';
import { packMaterial } from '../../../domain/code-review/pipeline/pack-material.ts';
import { createReviewWork } from '../../../ports/diff/review-work.ts';
import type { FetchedDiff, ReviewStepInput } from '../../../workflows/contracts/review/review-runs.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { readAsSystem } from '../../support/as-system.ts';
import { runCancelled } from '../../support/failures.ts';
import { gatherMaterial, materialOfSkipped } from './gather-material.ts';
import { openRepository } from './open-repository.ts';
import { readChange } from './read-change.ts';
import { rebuildLedger } from '../host/rebuild-ledger.ts';
import { readHostPull } from './read-pull.ts';
import { readThread } from './read-thread.ts';
import { asSystemStep } from '../system-step.ts';
import { triage, triageAsk } from '../triage.ts';

/** Where the material of a run is stored among its answers. */
export const materialAnswer = { stage: 'material', ordinal: 0 } as const;

/** Reads everything that a review needs, once; a repeat finds the stored material. */
export async function fetchDiff(deps: ActivityDeps, input: ReviewStepInput): Promise<FetchedDiff> {
  const run = await readAsSystem(deps, (tx) => readReviewRun(tx, input.runId));
  if (run === null) throw runCancelled();
  const kept = await readAsSystem(deps, (tx) => readAnswer(tx, input.runId, materialAnswer));
  if (kept === null && run.review.kind !== 'fix') {
    await asSystemStep(deps, { ...input, name: 'Read the pull request' }, async () => {
      const material = await readMaterial(deps, run);
      await transactAsRun(deps, run.runId, async (tx) => {
        await recordReviewHead(tx, run.runId, material.headSha);
        await keepAnswer(tx, run.runId, { ...materialAnswer, answer: packMaterial(material) });
      });
    });
  }
  const { kind, post } = run.review;
  return { kind, posts: post, checks: post && kind === 'review' && run.binding.reviewConfig.check_run };
}

async function readMaterial(deps: ActivityDeps, run: ReviewRun): Promise<ReviewMaterial> {
  const signal = cancellationSignal();
  const work = createReviewWork(deps.work, { organizationId: run.organizationId, signal });
  const client = await openRepository(deps, run);
  const pull = await readHostPull(client, run.pull.pullNumber, signal);
  const isAsk = run.review.kind === 'ask';
  const judged = isAsk ? await triageAsk(deps, run) : await triage(deps, run, { pull, work });
  const known = await readAsSystem(deps, (tx) => readLedger(tx, run.pull.id));
  if (judged.skipReason !== null) return materialOfSkipped(run, { pull, ledger: ledgerOf(known), skipReason: judged.skipReason });

  const change = await readChange(deps, { run, client, pull, work, signal });
  const isLost = known.length === 0 && run.pull.lastHeadSha === null && run.review.post;
  if (isLost) await rebuildLedger(deps, { run, client, headSha: change.headSha, patches: change.files });
  const ledger = isLost ? await readAsSystem(deps, (tx) => readLedger(tx, run.pull.id)) : known;
  const hashes = await readAsSystem(deps, (tx) => readJudgedHashes(tx, run.pull.id));
  const { isSummaryOnly } = judged;
  const material = await gatherMaterial({ run, pull, change, work, ledger: ledgerOf(ledger), hashes, isSummaryOnly });
  return isAsk ? { ...material, thread: await readThread(deps, run, client) } : material;
}

/** Returns only the columns that a review reads. */
function ledgerOf(ledger: readonly LedgerRow[]): ReviewMaterial['ledger'] {
  return ledger.map(
    ({ id, fingerprint, state, path, side, category, ruleId, severity, evidence, startLine, endLine, confidence, title, scenario }) => ({
      id,
      fingerprint,
      state,
      path,
      side,
      category,
      ruleId,
      severity,
      evidence,
      startLine,
      endLine,
      confidence,
      title,
      scenario,
    }),
  );
}
