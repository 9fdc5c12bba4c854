import { fork, type ChildProcess } from 'node:child_process';
import { afterMs } from '../deadline.ts';
import { EmbeddingError } from './errors.ts';
import type { OnboardFiles } from './registry.ts';

/** A request to the process. */
export interface OnboardJob {
  readonly texts: readonly string[];
  readonly maxTokens: number;
}

/** What it posts: `ready` once the model is loaded, then one answer per job. */
export type OnboardAnswer =
  | 'ready'
  | { readonly id: number; readonly vectors: Float32Array[] }
  | { readonly id: number; readonly problem: string };

/** A child process with the model, which answers one job at a time; one that dies or hangs fails only its job and is replaced. */
export interface ModelProcess {
  /** Throws an EmbeddingError. */
  ask(job: OnboardJob): Promise<Float32Array[]>;
  close(): void;
  /** Id of the current process; null: there is none. */
  readonly pid: number | null;
}

interface Living {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** Settles the job in progress. */
  answer: (answer: Exclude<OnboardAnswer, 'ready'> | Error) => void;
}

export interface ModelProcessOptions {
  readonly files: OnboardFiles;
  readonly threads: number;
  /** Time limit for loading the model, and for one job. */
  readonly maxMs: number;
}

const script = new URL('./onboard-child.ts', import.meta.url);
const heapMb = 256;

/** The process starts, and loads the model, at the first request. It ends with this process, however that ends. */
export function createModelProcess({ files, threads, maxMs }: ModelProcessOptions): ModelProcess {
  let living: Living | null = null;
  let nextId = 1;

  function start(): Living {
    const ready = Promise.withResolvers<void>();
    const child = fork(script, [files.model, files.tokenizer, String(threads)], {
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${heapMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const started: Living = { child, ready: ready.promise, answer: () => undefined };
    const lost = (what: string) => {
      if (living === started) living = null;
      ready.reject(new Error(what));
      started.answer(new Error(what));
    };
    child.on('message', (message: OnboardAnswer) => (message === 'ready' ? ready.resolve() : started.answer(message)));
    child.on('error', (error) => lost(error.message));
    child.on('exit', (code, signal) => lost(`ended with ${signal ?? code}`));
    ready.promise.catch(() => undefined);
    child.unref();
    child.channel?.unref();
    return started;
  }

  async function askNow(target: Living, job: OnboardJob): Promise<Float32Array[]> {
    const answered = Promise.withResolvers<Float32Array[]>();
    const id = nextId++;
    const cancel = afterMs(maxMs, () => {
      answered.reject(new Error(`no answer within ${maxMs} ms`));
      if (living === target) living = null;
      target.child.kill('SIGKILL');
    });
    target.answer = (found) => {
      if (found instanceof Error) answered.reject(found);
      else if (found.id === id && 'vectors' in found) answered.resolve(found.vectors);
      else if (found.id === id && 'problem' in found) answered.reject(new EmbeddingError('bad_answer', found.problem));
    };
    target.child.channel?.ref();
    try {
      target.ready.then(() => target.child.send({ id, job }), answered.reject);
      return await answered.promise;
    } finally {
      cancel();
      target.child.channel?.unref();
    }
  }

  return {
    get pid() {
      return living?.child.pid ?? null;
    },
    async ask(job) {
      living ??= start();
      return askNow(living, job).catch((error: unknown) => {
        if (error instanceof EmbeddingError) throw error;
        throw new EmbeddingError('unavailable', `the model's process failed: ${error instanceof Error ? error.message : String(error)}`);
      });
    },
    close() {
      living?.child.kill('SIGKILL');
      living = null;
    },
  };
}
