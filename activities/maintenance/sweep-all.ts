import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';

const rowsAStatement = 5000;

/** Deletes batch after batch, each in a separate transaction, until one is not full; returns the number of rows. An interruption loses nothing. */
export async function sweepAll(
  log: Logger,
  { what, deleteSome }: { readonly what: string; readonly deleteSome: (limit: number) => Promise<number> },
): Promise<number> {
  let deleted = 0;

  for (let count = rowsAStatement; count === rowsAStatement; deleted += count) {
    cancellationSignal().throwIfAborted();
    count = await deleteSome(rowsAStatement);
  }
  if (deleted > 0) log.info({ deleted, what }, 'swept');
  return deleted;
}
