import { createHash } from 'node:crypto';
import { insertAttachment } from '../../domain/attachments/attachments.ts';
import { findExport } from '../../db/evaluations/exports.ts';
import { resultsBehind } from '../../db/evaluations/results.ts';
import { readEvaluationState, type EvaluationState } from '../../db/evaluations/work.ts';
import { isEnded } from '../../domain/evaluations/lifecycle.ts';
import { keepExport } from '../../domain/evaluations/scoring.ts';
import { toResultView } from '../../domain/evaluations/result-view.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';

const pageSize = 200;

/**
 * Writes all results of an evaluation as JSON Lines into one attachment of its workspace, once. A killed try leaves bytes that no row names, which a sweep
 * removes.
 */
export async function exportResults(deps: ActivityDeps, id: string, signal: AbortSignal): Promise<void> {
  const evaluation = await readAsSystem(deps, (tx) => readEvaluationState(tx, id));
  if (evaluation === null || isEnded(evaluation) || (await readAsSystem(deps, (tx) => findExport(tx, id))) !== null) return;
  const storageKey = newStorageKey(evaluation.organizationId);
  const size = { sizeBytes: 0, digest: createHash('sha256') };
  await deps.storage.put(storageKey, linesOf(deps, evaluation, size), { signal });
  const { organizationId, workspaceId } = evaluation;
  const bytes = { storageKey, sizeBytes: size.sizeBytes, sha256: size.digest.digest('hex') };
  const file = { filename: `evaluation-${id}.jsonl`, mediaType: 'application/x-ndjson', purpose: 'other', isScanned: false } as const;
  const made = { organizationId, workspaceId, ...file, ...bytes, createdBy: { kind: 'system', id: null } } as const;
  await transactAsSystem(deps, (tx) => keepExport(tx, id, () => insertAttachment(tx, made)));
}

async function* linesOf(
  deps: ActivityDeps,
  { id, evaluators }: EvaluationState,
  size: { sizeBytes: number; readonly digest: ReturnType<typeof createHash> },
): AsyncGenerator<Uint8Array> {
  for (let after = { position: 0, repetition: 0 }; ;) {
    const behind = after;
    const page = await readAsSystem(deps, (tx) => resultsBehind(tx, id, { after: behind, limit: pageSize }));
    const last = page.at(-1);
    if (last === undefined) return;
    const chunk = Buffer.from(page.map((row) => `${JSON.stringify(toResultView(row, evaluators))}\n`).join(''));
    size.sizeBytes += chunk.byteLength;
    size.digest.update(chunk);
    yield chunk;
    after = last;
  }
}
