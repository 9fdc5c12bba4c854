import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { linkToRun } from '../../../db/knowledge/runs/write-runs.ts';
import type { Changing } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { seeBaseForChange } from '../bases/bases.ts';
import type { ExportOptions } from './export-bundle.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { refuseLiveRuns } from '../upkeep/purge.ts';
import { startKnowledgeRun } from '../runs/runs.ts';
import { attachmentForBase } from '../sources/sources.ts';

/** How many days an export is retained; the file of an import too, so that its errors can be looked up in it. */
const keptDays = 7;

/**
 * Starts the export of a base for a caller who manages it.
 * @throws 404, 403; 409 `reembed_in_progress` for a base that is being built, `run_in_progress` while it is purged; 423 in a frozen workspace or organization
 */
export async function startExport(
  ctx: Changing,
  kbId: string,
  { options, currency }: { readonly options: ExportOptions; readonly currency: string },
): Promise<KnowledgeRun> {
  const { base } = await seeBaseForChange(ctx, kbId, { need: 'manage' });
  if (base.activatedAt === null) throw fail('state_conflict', { reason: 'reembed_in_progress' });
  await refuseLiveRuns(ctx, base.id, ['purge']);
  return startKnowledgeRun(ctx, base, { kind: 'export', currency, params: { ...options, slug: base.slug } });
}

/** The requested options of an export. */
export function exportOptionsOf({ params }: Pick<KnowledgeRun, 'params'>): ExportOptions {
  return { includeVectors: params['includeVectors'] === true, includeGrants: params['includeGrants'] === true };
}

/** The name of an export's file. */
export function exportName({ params, createdAt }: Pick<KnowledgeRun, 'params' | 'createdAt'>): string {
  const slug = typeof params['slug'] === 'string' ? params['slug'] : 'knowledge';
  return `${slug}-${new Date(createdAt).toISOString().slice(0, 10)}.jsonl.gz`;
}

/** Links the file of an export to its run, which is locked. */
export async function keepExport(tx: TenantTransaction, run: KnowledgeRun, attachmentId: string): Promise<void> {
  run.attachmentId = attachmentId;
  await linkToRun(tx, run, { attachmentId, days: keptDays });
}

/** The parameters of an import. */
export interface ImportRequest {
  readonly attachmentId: string;
  readonly mode: 'create' | 'upsert';
  readonly isDryRun: boolean;
  readonly keepState: boolean;
  readonly includeGrants: boolean;
}

/**
 * Starts the import of a bundle into a base for a caller who manages it.
 * @throws 404, 403; 422 `reference` for an attachment that does not resolve, 409 for one that is not ready; 423 for a frozen base and in a frozen workspace or
 * organization; 409 `run_in_progress` while another import, a purge or a re-embed is working
 */
export async function startImport(
  ctx: Changing,
  kbId: string,
  { request, currency }: { readonly request: ImportRequest; readonly currency: string },
): Promise<KnowledgeRun> {
  const { base, before } = await seeBaseForChange(ctx, kbId, { need: 'manage' });
  const { attachmentId, mode, isDryRun, keepState, includeGrants } = request;
  const attachment = await attachmentForBase(ctx, base, attachmentId);
  const { isFrozen, successorId, activatedAt } = before;
  refuseFrozenBase({ isFrozen: isFrozen || base.isFrozen, successorId, activatedAt, reembedRunId: before.reembedRunId });
  await refuseLiveRuns(ctx, base.id, ['import', 'purge', 'reembed']);
  const params = { mode, keepState, includeGrants };
  const run = await startKnowledgeRun(ctx, base, { kind: 'import', currency, dryRun: isDryRun, attachmentId: attachment.id, params });
  await linkToRun(ctx, run, { attachmentId: attachment.id, days: keptDays });
  return run;
}
