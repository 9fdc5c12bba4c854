import type { AnsweredMessage } from '../../db/channels/answered.ts';
import {
  claimPart,
  isBehindAnother,
  lockPart,
  storeChannelState,
  storePart,
  warnRun,
  type StoredPart,
} from '../../db/channels/outbound.ts';
import type { PartRow } from '../../db/channels/part-queries.ts';
import { emitEvent } from '../../db/triggers/events.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ChannelService, SendOutcome } from '../../ports/channels/service.ts';
import type { ChannelPartInput } from '../../workflows/contracts/triggers/channels.ts';
import type { DraftRow } from '../../db/channels/draft-queries.ts';
import { claimDraft, storeDraft } from '../../db/channels/drafts.ts';

/** A part that is due, its try counted; or how long it still waits; or that there is nothing to do. */
export type PartClaim =
  | { readonly state: 'due'; readonly part: PartRow; /** An earlier try may have sent it. */ readonly isUncertain: boolean }
  | { readonly state: 'waiting'; readonly waitMs: number }
  | { readonly state: 'over' };

const behindMs = 1_000;

/** Claims the next try of a part. */
export async function claimNextPart(tx: TenantTransaction, input: ChannelPartInput): Promise<PartClaim> {
  const part = await lockPart(tx, input);
  if (!part || part.text === null || (part.state !== 'pending' && part.state !== 'sending')) return { state: 'over' };
  if (part.waitMs > 0) return { state: 'waiting', waitMs: part.waitMs };
  if (await isBehindAnother(tx, part.id)) return { state: 'waiting', waitMs: behindMs };
  const attempts = await claimPart(tx, part.id);
  return { state: 'due', part: { ...part, attempts }, isUncertain: part.state === 'sending' };
}

/** The delays after the first failed try, the second, and so on; then the part has failed. */
const delaysS: readonly number[] = [1, 5, 60, 300];
/** The most tries, however often the service limits the rate. */
const maxAttempts = 200;

/** The state of a part after a try, and when it is tried again. */
export type PartVerdict = Omit<StoredPart, 'externalId'> & { readonly externalId: string | null };

/**
 * Judges a try. A rate limit does not count as a failure and waits as long as the service says; refused markup is sent once more as plain text; a try with an
 * unknown outcome ends the part if its service can't be asked.
 */
export function verdictOfPart(
  part: Pick<PartRow, 'failures' | 'isPlain' | 'attempts' | 'externalId'>,
  outcome: SendOutcome,
  afterUncertain: ChannelService['afterUncertain'],
): PartVerdict {
  const { failures, isPlain, externalId } = part;
  const kept = { isPlain, externalId, failures };
  const again = (state: 'pending' | 'sending', error: string): PartVerdict => {
    const delayS = delaysS[failures];
    if (delayS === undefined) return { ...kept, state: state === 'pending' ? 'failed' : 'unknown', lastError: error, delayMs: null };
    return { ...kept, state, failures: failures + 1, lastError: error, delayMs: delayS * 1_000 };
  };
  switch (outcome.result) {
    case 'sent':
      return { ...kept, state: 'sent', externalId: outcome.externalId ?? externalId, lastError: null, delayMs: null };
    case 'limited':
      if (part.attempts >= maxAttempts) return { ...kept, state: 'failed', lastError: outcome.error, delayMs: null };
      return { ...kept, state: 'pending', lastError: outcome.error, delayMs: Math.ceil(outcome.retryAfterS * 1_000) };
    case 'markup':
      if (isPlain) return { ...kept, state: 'failed', lastError: outcome.error, delayMs: null };
      return { ...kept, isPlain: true, state: 'pending', lastError: outcome.error, delayMs: 0 };
    case 'failed':
      return again('pending', outcome.error);
    case 'uncertain':
      // A replacement of a draft may be sent again: it replaces itself.
      if (afterUncertain === 'never' && externalId === null) return { ...kept, state: 'unknown', lastError: outcome.error, delayMs: null };
      return again(externalId === null ? 'sending' : 'pending', outcome.error);
    case 'refused':
      return { ...kept, state: 'failed', lastError: outcome.error, delayMs: null };
    default:
      return outcome satisfies never;
  }
}

/** Stores a try and its verdict, unless a later try has overtaken it. A part that ends unsent is a warning of the run and an event. */
export async function settlePart(
  tx: TenantTransaction,
  message: AnsweredMessage,
  { part, verdict, at }: { readonly part: PartRow; readonly verdict: PartVerdict; readonly at: Date },
): Promise<void> {
  if (!(await storePart(tx, part, verdict))) return;
  const { channelId, organizationId, workspaceId, runId } = message;
  const { state, lastError } = verdict;
  if (state === 'sent') return storeChannelState(tx, channelId, { state: 'ok', lastError: null });
  if (state !== 'failed' && state !== 'unknown') return;

  if (state === 'failed') await storeChannelState(tx, channelId, { state: 'error', lastError });
  if (runId !== null)
    await warnRun(
      tx,
      runId,
      `part ${part.part} of the answer ${state === 'failed' ? 'was not sent' : 'may not have been sent'} to the channel: ${lastError ?? ''}`.slice(
        0,
        300,
      ),
    );
  await emitEvent(tx, {
    organizationId,
    workspaceId,
    eventKind: 'channel.failed',
    source: 'platform',
    payload: { channel_id: channelId, message_id: message.id, run_id: runId, part: part.part, state },
    occurredAt: at,
    ...(runId === null ? {} : { causeRunId: runId }),
  });
}

/** Releases a claimed part that was not sent; a later claim stays. */
export async function releasePart(tx: TenantTransaction, part: PartRow, isUncertain: boolean): Promise<void> {
  const { isPlain, externalId, failures } = part;
  const state = isUncertain ? ('sending' as const) : ('pending' as const);
  await storePart(tx, part, { state, isPlain, externalId, failures, lastError: 'the process was frozen', delayMs: 0 });
}

/** Claims the draft of an answer before it is sent. Null: the run has ended, or another attempt has not reported the outcome of its draft. */
export function openDraft(tx: TenantTransaction, message: AnsweredMessage): Promise<DraftRow | null> {
  return claimDraft(tx, message);
}

/** Stores the outcome of a draft. A draft that may have been sent stays open: the sender of the answer finds out. */
export async function settleDraft(tx: TenantTransaction, draft: DraftRow, outcome: SendOutcome): Promise<void> {
  if (outcome.result === 'sent') return storeDraft(tx, draft, { state: 'sent', externalId: outcome.externalId });
  return storeDraft(tx, draft, { state: outcome.result === 'uncertain' ? 'sending' : 'none', externalId: null });
}
