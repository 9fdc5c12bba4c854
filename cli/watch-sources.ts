import { watch } from 'node:fs';
import { join } from 'node:path';
import type { Supervisor } from './processes.ts';

const folders = ['activities', 'api', 'db', 'domain', 'ports', 'temporal', 'workers', 'workflows'];
/** An editor, and even more so git, writes several files in succession. */
const settleMs = 300;

export interface WatchOptions {
  /** Folder of the sources. */
  readonly root: string;
  /** The processes that run them. */
  readonly names: readonly string[];
  readonly log: (line: string) => void;
}

/** Restarts processes when a source has changed; a process that does not start is tried again at the next change. Returns a function that stops watching. */
export function restartOnChange(supervisor: Pick<Supervisor, 'restart'>, { root, names, log }: WatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined;
  let restarting: Promise<unknown> = Promise.resolve();

  const restart = async (name: string) => {
    try {
      await supervisor.restart(name);
    } catch (error) {
      log(error instanceof Error ? error.message : String(error));
    }
  };
  const restartAll = (changed: string) => {
    log(`${changed} has changed: restarting ${names.join(', ')}`);
    restarting = restarting.then(() => Promise.all(names.map(restart)));
  };
  const watchers = folders.map((folder) =>
    watch(join(root, folder), { recursive: true }, (_event, file) => {
      clearTimeout(timer);
      timer = setTimeout(restartAll, settleMs, join(folder, file ?? ''));
    }),
  );
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
