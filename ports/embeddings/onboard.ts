import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';
import type { EmbeddingRequest } from './index.ts';
import { createModelProcess } from './model-process.ts';
import type { OnboardFiles } from './registry.ts';

/** The on-board model, in a separate process: the runtime blocks its calling thread, and ending a thread inside it ends the whole process. */
export interface OnboardModel {
  /** Returns vectors of length 1. Queries go before waiting documents. Throws an EmbeddingError or the signal's reason. */
  embed(request: EmbeddingRequest): Promise<Float32Array[]>;
  close(): void;
  /** Id of the model's process; null: it has not been needed. */
  readonly pid: number | null;
}

/** A batch takes at most a second on a machine that is not busy. */
const maxMs = 60_000;
/** One core stays free for requests. */
const threads = Math.max(1, Math.min(4, availableParallelism() - 1));

/** Nothing is loaded before the first request. */
export function createOnboardModel(files: OnboardFiles, { maxTokens, maxBatch }: { maxTokens: number; maxBatch: number }): OnboardModel {
  const modelProcess = createModelProcess({ files, threads, maxMs });
  const queue = new PQueue({ concurrency: 1 });

  async function embedBatch(texts: readonly string[], { kind, signal }: EmbeddingRequest): Promise<Float32Array[]> {
    return queue.add(
      async () => {
        signal.throwIfAborted();
        return modelProcess.ask({ texts, maxTokens });
      },
      { priority: kind === 'query' ? 1 : 0, signal },
    );
  }

  return {
    async embed(request) {
      const vectors: Float32Array[] = [];
      for (let at = 0; at < request.texts.length; at += maxBatch)
        vectors.push(...(await embedBatch(request.texts.slice(at, at + maxBatch), request)));
      return vectors;
    },
    close: () => modelProcess.close(),
    get pid() {
      return modelProcess.pid;
    },
  };
}
