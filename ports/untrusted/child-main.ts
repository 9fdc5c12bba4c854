// The script of a child: it does one job after the other and loads the code of a sort at its first job.
import { deserialize, serialize } from 'node:v8';
import { Failure } from '../../workflows/contracts/failure.ts';
import { maxResultBytes, type Answer, type ChildMessage, type JobMessage } from './messages.ts';
import type { Sort } from './sorts.ts';
import { watchParent } from './lower-priority.ts';

const [, , sortsModule = '', ending = ''] = process.argv;
const { sorts } = (await import(sortsModule)) as { sorts: Readonly<Record<string, Sort<unknown, unknown>>> }; // named by the pool itself

// The parent has exited: no answer can reach it.
process.on('disconnect', () => process.exit());
// An error that a library throws outside its promise fails the job; the state of the process is then unknown.
process.on('uncaughtException', (error) => process.send?.({ ...problemOf(error), isLast: true }, () => process.exit(1)));
process.on('message', (message: JobMessage) => void answer(message));
if (ending === 'by-itself') watchParent();

async function answer({ sort, job }: JobMessage): Promise<void> {
  const known = sorts[sort];
  if (!known) throw new Error(`there is no work of the sort ${sort}`);
  const rules = await known.load().catch(unloaded);
  if ('kind' in rules) return send(rules);
  const { user, system } = process.cpuUsage();
  await send({ kind: 'begun', cpuMs: (user + system) / 1_000 });
  await send(await resultOf(() => rules.work(deserialize(job))));
}

function unloaded(error: unknown): Extract<ChildMessage, { kind: 'unloaded' }> {
  return { kind: 'unloaded', message: messageOf(error) };
}

async function resultOf(work: () => unknown): Promise<Answer> {
  try {
    const bytes = serialize(await work());
    return bytes.byteLength > maxResultBytes ? { kind: 'too_large' } : { kind: 'result', bytes };
  } catch (error) {
    if (!(error instanceof Failure)) return problemOf(error);
    const { code, detail, context, errors } = error;
    return { kind: 'failure', code, options: { detail, context, errors } };
  }
}

function problemOf(error: unknown): Answer {
  return { kind: 'problem', message: messageOf(error) };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300);
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()));
}
