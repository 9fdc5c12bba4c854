import { Worker } from 'node:worker_threads';

/** A worker thread that answers one job at a time; one that exceeds its time is killed and replaced. */
export interface BoundedThread<Job, Result> {
  /** Throws ThreadLimit when the time is over, ThreadLost when the thread dies, ThreadProblem when the thread refuses the job. */
  ask(job: Job): Promise<Result>;
  close(): Promise<void>;
}

/** The job took too much time or memory. */
export class ThreadLimit extends Error {
  override readonly name = 'ThreadLimit';
}

/** The thread could not be loaded or died during the job: out of memory, or for an error that is not the job's. */
export class ThreadLost extends Error {
  override readonly name = 'ThreadLost';
}

/** The thread refused the job; the message is the thread's. */
export class ThreadProblem extends Error {
  override readonly name = 'ThreadProblem';
}

/** What a thread's script posts: `ready` once loaded, then one answer per job. */
export type ThreadAnswer<Result> = { readonly id: number; readonly result: Result } | { readonly id: number; readonly problem: string };

interface Running<Result> {
  readonly id: number;
  readonly worker: Worker;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  /** Loading takes longer than a job may: the clock starts when the thread is ready. */
  readonly ready: Promise<void>;
}

/** `script` is loaded with an empty environment; `heapMb` bounds its memory. */
export function createBoundedThread<Job, Result>(
  script: URL,
  limits: { readonly maxMs: number; readonly heapMb: number },
): BoundedThread<Job, Result> {
  let thread: Thread | null = null;
  let running: Running<Result> | null = null;
  let nextId = 1;
  let tail: Promise<unknown> = Promise.resolve();

  function settle(answer: ThreadAnswer<Result>): void {
    if (running === null || running.id !== answer.id) return;
    if ('result' in answer) running.resolve(answer.result);
    else running.reject(new ThreadProblem(answer.problem));
  }

  function currentThread(): Thread {
    if (thread) return thread;
    const worker = new Worker(script, {
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    worker.unref();
    const ready = Promise.withResolvers<void>();
    worker.on('message', (answer: ThreadAnswer<Result> | 'ready') => (answer === 'ready' ? ready.resolve() : settle(answer)));
    const lost = (message: string) => {
      if (thread?.worker === worker) thread = null;
      ready.reject(new ThreadLost(message));
      if (running?.worker === worker) running.reject(new ThreadLost(message));
    };
    worker.on('error', (error) => (isOutOfMemory(error) ? outgrown() : lost(error.message.slice(0, 200))));
    worker.on('exit', () => lost('the thread ended'));
    const outgrown = () => {
      if (thread?.worker === worker) thread = null;
      if (running?.worker === worker) running.reject(new ThreadLimit(`took more than ${limits.heapMb} MB`));
    };
    ready.promise.catch(() => undefined);
    thread = { worker, ready: ready.promise };
    return thread;
  }

  async function askNow(job: Job): Promise<Result> {
    const target = currentThread();
    target.worker.ref();
    await target.ready;
    const id = nextId++;
    const answer = Promise.withResolvers<Result>();
    running = { id, worker: target.worker, resolve: answer.resolve, reject: answer.reject };
    const cancel = afterWorkingFor(limits.maxMs, target.worker, () => {
      if (thread === target) thread = null;
      answer.reject(new ThreadLimit(`took more than ${limits.maxMs} ms`));
      void target.worker.terminate();
    });
    try {
      target.worker.postMessage({ id, job }); // throws for a value that can't be copied
      return await answer.promise;
    } finally {
      cancel();
      running = null;
      target.worker.unref();
    }
  }

  return {
    ask(job) {
      const asked = tail.then(() => askNow(job));
      tail = asked.catch(() => undefined);
      return asked;
    },
    async close() {
      const last = thread;
      thread = null;
      await last?.worker.terminate();
    },
  };
}

/** A thread that gets no processor is given up after this many times its limit. */
const maxTurns = 30;

/**
 * A timer for the work of a thread: it counts the processor time of the thread, so that a busy machine or a frozen process does not count against the job. When
 * it fires far too late, the answer may be in the queue: the queue is read first. Returns the function that cancels it.
 */
function afterWorkingFor(maxMs: number, worker: Worker, over: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isCancelled = false;
  let turns = 0;
  const before = worker.cpuUsage().catch(() => undefined);

  const arm = (ms: number): void => {
    const startedAt = performance.now();
    timer = setTimeout(() => (performance.now() - startedAt > ms + maxMs ? arm(maxMs) : void judge()), ms);
  };
  const judge = async (): Promise<void> => {
    const used = await worker.cpuUsage(await before).catch(() => null);
    if (isCancelled) return;
    const leftMs = used === null ? 0 : maxMs - (used.user + used.system) / 1_000;
    if (leftMs > 0 && ++turns < maxTurns) arm(Math.max(leftMs, maxMs / 10));
    else over();
  };

  arm(maxMs);
  return () => {
    isCancelled = true;
    clearTimeout(timer);
  };
}

function isOutOfMemory(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
