import type { TenantTransaction } from '../tenant-transaction.ts';
import { openMessages, readOpenMessage } from './open-messages.ts';

/** What a run has written by now of the message that it is at; empty: nothing. */
export async function newestOpenText({ em }: Pick<TenantTransaction, 'em'>, runId: string): Promise<string> {
  const newest = (await openMessages(em, runId)).at(-1);
  const message = newest === undefined ? null : await readOpenMessage(em, runId, newest);
  return (message?.blocks ?? [])
    .filter(({ block }) => block === 'text')
    .map(({ text }) => text)
    .join('');
}
