import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, type ChildCommand, lastLines, startChild, stopChild } from './child.ts';
import { diskAdvice, SetupError } from '../setup-error.ts';

/** How to run a program. Nothing here changes between two starts: same port, same data. */
export interface Recipe {
  readonly name: string;
  readonly command: ChildCommand;
  /** Polled after a start until it resolves to true. A SetupError gives up; any other error means not yet. */
  readonly isReady: () => Promise<boolean>;
  readonly readyTimeoutMs: number;
  readonly stopSignal: NodeJS.Signals;
  /** How long it may take to end by itself before it is killed. */
  readonly graceMs: number;
  /** Runs before each start, with nothing of it alive. */
  readonly beforeStart?: () => Promise<void>;
}

/** A child process that can be started again. */
export interface Restartable {
  readonly name: string;
  readonly child: Child | null;
  /** Resolves when it is ready; does nothing while it runs. Rejects with the end of its log if it dies or is not ready in time. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called when it ends without having been stopped. */
  onDeath(listener: (how: string) => void): void;
}

/** `onChange` is called with each child that starts and, with null, at its end. */
export function createRestartable(recipe: Recipe, onChange: (name: string, child: Child | null) => void): Restartable {
  const listeners: ((how: string) => void)[] = [];
  let child: Child | null = null;
  let starting: Promise<void> | null = null;
  let isWanted = false;

  const launch = async () => {
    await recipe.beforeStart?.();
    if (!isWanted) throw new SetupError(`${recipe.name} was told to stop before it started`);
    const started = startChild(recipe.command);
    child = started;
    onChange(recipe.name, started);
    const isUp = watch(started);
    try {
      await untilReady(recipe, started);
    } catch (error) {
      await stopChild(started, recipe);
      throw error;
    }
    isUp();
  };

  /** `start` reports a death before it was ever ready; a later one goes to the listeners. */
  const watch = (started: Child) => {
    let hasBeenReady = false;
    void started.ended.then((how) => {
      child = null;
      onChange(recipe.name, null);
      if (isWanted && hasBeenReady) for (const listener of listeners) listener(how);
    });
    return () => (hasBeenReady = true);
  };

  return {
    name: recipe.name,
    get child() {
      return child;
    },
    async start() {
      isWanted = true;
      if (child !== null && starting === null) return;
      starting ??= launch().finally(() => (starting = null));
      await starting;
    },
    async stop() {
      isWanted = false;
      if (child !== null) await stopChild(child, recipe);
      await starting?.catch(() => {});
    },
    onDeath: (listener) => listeners.push(listener),
  };
}

async function untilReady(recipe: Recipe, child: Child): Promise<void> {
  const deadline = Date.now() + recipe.readyTimeoutMs;

  while (child.isAlive() && Date.now() < deadline) {
    if ((await asked(recipe)) && child.isAlive()) return;
    await Promise.race([child.ended, sleep(25)]);
  }

  const how = child.isAlive() ? `was not ready after ${recipe.readyTimeoutMs / 1000} s` : `ended (${await child.ended})`;
  const { logFile } = recipe.command;
  const said = lastLines(logFile);
  throw new SetupError(`${diskAdvice(said, dirname(logFile))}${recipe.name} ${how}. Its log ${logFile} ends:\n${said}`);
}

async function asked(recipe: Recipe): Promise<boolean> {
  try {
    return await recipe.isReady();
  } catch (error) {
    if (error instanceof SetupError) throw error;
    return false;
  }
}
