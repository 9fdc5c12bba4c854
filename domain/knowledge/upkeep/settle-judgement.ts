import { settleOutsideRun } from '../../../db/billing/ledger/settle-embedding.ts';
import type { TokenCounts } from '../../../db/billing/ledger/usage.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { MeteredCall } from '../../billing/metered-call.ts';
import type { JudgeQuestion, Judgement } from './judge.ts';

/** A completed call of a judge, and its usage. */
export interface JudgeCall {
  readonly callKey: string;
  readonly question: JudgeQuestion;
  readonly model: { readonly id: string; readonly provider: string; readonly isFree: boolean };
  readonly providerRequestId: string | null;
  readonly tokens: TokenCounts;
  readonly estimated: boolean;
  readonly currency: string;
  readonly metered: Pick<MeteredCall, 'prices' | 'reservedAt'>;
  /** Null when the call returned none. */
  readonly answer: Judgement | null;
  /** The answer as the model returned it. */
  readonly raw: string;
}

/** Settles a call of a judge at its run's cost, once per call key, and stores its answer. */
export async function settleJudgement(tx: TenantTransaction, { question, model, metered, answer, raw, ...call }: JudgeCall): Promise<void> {
  const { organizationId, workspaceId, runId } = question;
  await question.flight?.end(tx);
  if (answer !== null) await question.keep(tx, answer, raw);
  await settleOutsideRun(tx, {
    ...call,
    kind: 'llm',
    source: { kind: question.sourceKind ?? 'maintenance', id: runId },
    organizationId,
    workspaceId,
    model: model.id,
    provider: model.provider,
    isFree: model.isFree,
    reservedAt: metered.reservedAt,
    prices: metered.prices,
  });
}
