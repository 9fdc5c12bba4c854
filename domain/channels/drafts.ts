import type { AnsweredMessage } from '../../db/channels/answered.ts';
import type { DraftRow } from '../../db/channels/draft-queries.ts';
import { claimDraft, storeDraft } from '../../db/channels/drafts.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { SendOutcome } from '../../ports/channels/service.ts';

/** Claims the draft of an answer before it is sent. Null: the run has ended, or another attempt has not reported the outcome of its draft. */
export function openDraft(tx: TenantTransaction, message: AnsweredMessage): Promise<DraftRow | null> {
  return claimDraft(tx, message);
}

/** Stores the outcome of a draft. A draft that may have been sent stays open: the sender of the answer finds out. */
export async function settleDraft(tx: TenantTransaction, draft: DraftRow, outcome: SendOutcome): Promise<void> {
  if (outcome.result === 'sent') return storeDraft(tx, draft, { state: 'sent', externalId: outcome.externalId });
  return storeDraft(tx, draft, { state: outcome.result === 'uncertain' ? 'sending' : 'none', externalId: null });
}
