import type { AnsweredMessage } from '../../db/channels/answered.ts';
import type { DraftRow } from '../../db/channels/draft-queries.ts';
import { claimDraft, storeDraft } from '../../db/channels/drafts.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { SendOutcome } from '../../ports/channels/service.ts';

/** Opens the place of a draft before it is sent. Null: the run has ended, or another attempt has not said what became of its draft. */
export function openDraft(tx: TenantTransaction, message: AnsweredMessage): Promise<DraftRow | null> {
  return claimDraft(tx, message);
}

/** Stores what became of a draft. One that may have been seen keeps its place open: who sends the answer finds out. */
export async function settleDraft(tx: TenantTransaction, draft: DraftRow, outcome: SendOutcome): Promise<void> {
  if (outcome.result === 'sent') return storeDraft(tx, draft, { state: 'sent', externalId: outcome.externalId });
  return storeDraft(tx, draft, { state: outcome.result === 'uncertain' ? 'sending' : 'none', externalId: null });
}
