import { createHash } from 'node:crypto';
import type { FoundChannel } from '../../db/channels/open-channel.ts';
import { findAnswered } from '../../db/channels/replies.ts';
import { shareVotedRun } from '../../db/feedback/votes.ts';
import type { Scoped } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';
import { putVote } from '../feedback/votes.ts';
import { isAllowed } from './channel-rules.ts';

const maxIdChars = 200;

/**
 * Stores the vote of a person who has pressed a button under an answer of the channel, in place of an earlier one. Ignores a run that is not the channel's, or
 * no longer exists.
 */
export async function castVote(
  ctx: Scoped & TenantTransaction,
  channel: FoundChannel,
  { runId, rating, senderId }: { readonly runId: string; readonly rating: 'up' | 'down'; readonly senderId: string },
): Promise<void> {
  if (channel.allowedSenders.length > 0 && !isAllowed(channel.allowedSenders, senderId)) return;
  const answered = await findAnswered(ctx, runId);
  if (answered?.channelId !== channel.id) return;
  const run = await shareVotedRun(ctx, runId);
  if (!run || !isTerminal(run.status)) return;
  const id = `${channel.kind}:${senderId}`;
  const voter = { kind: 'guest', id: id.length > maxIdChars ? createHash('sha256').update(id).digest('hex') : id } as const;
  await putVote(ctx, run, { voter, vote: { rating, comment: null, tags: [], correction: null } });
}
