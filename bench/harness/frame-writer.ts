import { newId } from '../../db/ids.ts';
import type { Emitter } from '../../domain/streams/emitter.ts';
import type { Stack } from '../../test/support/stack.ts';

/** Writes one message of a run, as the worker of its model step would. */
export interface FrameWriter {
  /** Appends a delta a text in one flush; gives the number of the last frame. */
  flush(texts: readonly string[]): Promise<number>;
  close(): void;
}

export function openFrameWriter(emitter: Emitter, { tenant }: Stack, runId: string): FrameWriter {
  const { organizationId, workspaceId } = tenant;
  const writer = emitter.open({
    run: { runId, rootRunId: runId, parentRunId: null, organizationId, workspaceId, path: ['bench'] },
    scope: 's1',
    attempt: 1,
  });
  const messageId = newId();
  let index = 0;
  return {
    close: () => writer.close(),
    async flush(texts) {
      for (const delta of texts) writer.delta({ messageId, step: 1, index: index++, block: 'text', delta });
      const answer = await writer.flush();
      if (answer?.result !== 'ok' || answer.lastSeq === null) throw new Error(`the append was ${answer?.result}`);
      return answer.lastSeq;
    },
  };
}
