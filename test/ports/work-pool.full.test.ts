import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createPool, type WorkPool, type WorkPoolOptions } from '../../ports/untrusted/pool.ts';
import { WorkLimit, WorkProblem } from '../../ports/untrusted/work-errors.ts';
import { sorts, type Deed } from '../fakes/work-sorts.ts';
import { until } from '../support/temporal.ts';

const onLinux = process.platform === 'linux' ? test : test.skip;
const open: WorkPool<typeof sorts>[] = [];

afterEach(() => Promise.all(open.splice(0).map((pool) => pool.close())));

function poolOf(options: Partial<WorkPoolOptions> = {}) {
  const told: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void told.push(JSON.parse(line) as Record<string, unknown>) });
  const pool = createPool({ sorts, module: new URL('../fakes/work-sorts.ts', import.meta.url) }, { log, beginMs: 60_000, ...options });
  open.push(pool);
  const run = (deed: Deed, amount = 0, more: { organizationId?: string | null; subject?: () => string; signal?: AbortSignal } = {}) =>
    pool.run('small', { organizationId: 'a', job: { deed, amount }, ...more });
  const patient = (deed: Deed, amount = 0, organizationId = 'a') => pool.run('patient', { organizationId, job: { deed, amount } });
  return { pool, run, patient, told };
}

const isAlive = (pid: number | undefined) => {
  if (pid === undefined || !existsSync(`/proc/${pid}`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).charAt(0) !== 'Z';
};

test('a job that outlives its time is ended with its child, and the next one gets a new child', async () => {
  const { pool, run, told } = poolOf();
  await run('busy', 1);
  const [before] = pool.pids();

  await expect(run('busy', 600_000)).rejects.toThrow(new WorkLimit('took more than 400 ms'));
  expect(await run('busy', 1)).toBe(1);
  expect(pool.pids()).not.toContain(before);
  expect(told).toMatchObject([{ sort: 'small', organization_id: 'a', reason: 'time', child_pid: before }]);
  expect((await pool.ended.get()).values).toMatchObject([{ labels: { sort: 'small', reason: 'time' }, value: 1 }]);
});

test('an organization whose work outgrew its limits ends no child that others have started, while there is room', async () => {
  const { pool, run } = poolOf({ size: 2, idleMs: 600_000 });
  const outgrow = () => expect(run('busy', 600_000, { organizationId: 'hostile' })).rejects.toThrow(WorkLimit);
  await outgrow();
  await run('busy', 1, { organizationId: 'b' });
  const [started] = pool.pids();

  await outgrow();
  await run('busy', 1, { organizationId: 'hostile' });
  await outgrow();
  expect(pool.pids()).toEqual([started]);

  await Promise.all(['b', 'c'].map((organizationId) => run('busy', 1, { organizationId })));
  expect(pool.pids()).toHaveLength(2);
  await outgrow();
  expect(pool.pids()).toHaveLength(1);
});

test('work of an organization whose work outgrew its limits gives way to all other work', async () => {
  const { pool, run } = poolOf();
  await expect(run('busy', 600_000, { organizationId: 'hostile' })).rejects.toThrow(WorkLimit);

  await run('busy', 1, { organizationId: 'hostile' });
  const [late] = pool.pids();
  await run('busy', 1, { organizationId: 'b' });
  const [plain] = pool.pids().filter((pid) => pid !== late);

  expect(getPriority(late)).toBe(getPriority() + 5);
  expect(getPriority(plain)).toBe(getPriority());
});

test('time in which the process itself was frozen is not held against the job', async () => {
  const { run, pool } = poolOf();
  await run('busy', 0);

  const asked = pool.run('short', { organizationId: 'a', job: { deed: 'idle', amount: 500 } });
  await new Promise((resolve) => setTimeout(resolve, 100));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000); // twice what the clock allows

  expect(await asked).toBe(500);
});

onLinux('a job that gets too little of the processor is given the time it needs, and one that waits for nothing is ended', async () => {
  const { run, pool } = poolOf();

  expect(await run('idle', 1_000)).toBe(1_000); // without work, as if it had been given none of the processor
  const waiting = pool.run('short', { organizationId: 'a', job: { deed: 'idle', amount: 600_000 } });
  await expect(waiting).rejects.toThrow(new WorkLimit('took more than 400 ms'));
});

onLinux('memory outside the heap is bounded, and ends the child and nothing else', async () => {
  const { run, told } = poolOf();

  await expect(run('bytes', 4_000)).rejects.toThrow(new WorkLimit('took more than 96 MB'));
  expect(told).toMatchObject([{ reason: 'memory' }]);
});

test("V8's own end of a full heap ends the child and nothing else", async () => {
  const { pool, run, told } = poolOf();

  const full = pool.run('roomy', { organizationId: 'a', job: { deed: 'objects', amount: 4_000 } });
  await expect(full).rejects.toThrow(new WorkLimit('took more than 256 MB'));
  expect(told).toMatchObject([{ reason: 'memory' }]);
  expect(await run('busy', 1)).toBe(1);
});

test('an answer that is too large is an outgrown job', async () => {
  await expect(poolOf().patient('answer', 40)).rejects.toThrow(WorkLimit);
});

test('what the work throws crosses as it is, and the child lives on; one that fails outside its promise fails its job', async () => {
  const { pool, run } = poolOf();
  await run('busy', 0);
  const before = pool.pids();

  await expect(run('throw')).rejects.toThrow(new WorkProblem('no such number'));
  await expect(run('refuse')).rejects.toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/number', rule: 'range' }] });
  expect(pool.pids()).toEqual(before);
  await expect(run('throw_later')).rejects.toThrow(new WorkProblem('thrown by nobody in particular'));
  expect(await run('busy', 1)).toBe(1);
});

test('a job that can not be handed over is refused, and holds nothing', async () => {
  const { pool, run } = poolOf({ size: 1 });

  await expect(pool.run('small', { organizationId: 'a', job: { deed: 'busy', amount: (() => 1) as never } })).rejects.toThrow(
    'could not be cloned',
  );
  expect(await run('busy', 1)).toBe(1);
});

test('what outgrew its limits is refused at once with the same words, for its organization only, and not for ever', async () => {
  const { pool, run } = poolOf({ rememberMs: 60_000 });
  const subject = () => 'the schema';
  const first = await run('busy', 600_000, { subject }).catch((error: unknown) => error);
  await run('busy', 0); // a child is there
  const before = pool.pids();

  expect(await run('busy', 600_000, { subject }).catch((error: unknown) => error)).toEqual(first);
  expect(pool.pids()).toEqual(before);
  expect(await run('busy', 1, { subject, organizationId: 'b' })).toBe(1);
  expect(await run('busy', 1, { subject: () => 'another' })).toBe(1);

  const forgetful = poolOf({ rememberMs: 0 });
  await expect(forgetful.run('busy', 600_000, { subject })).rejects.toThrow(WorkLimit);
  expect(await forgetful.run('busy', 1, { subject })).toBe(1);
});

test('a child that is killed from outside is no fault of the job: it is tried once more, and nothing is remembered', async () => {
  const { pool, patient, told } = poolOf();
  const asked = patient('idle', 1_000);
  const [child = 0] = pool.pids();
  process.kill(child, 'SIGKILL');

  expect(await asked).toBe(1_000);
  expect(told).toMatchObject([{ reason: 'lost', told: 'SIGKILL' }]);
});

test('a job whose rules can not be loaded is service_unavailable: nobody has judged it', async () => {
  const { pool, told } = poolOf();
  const ask = () => pool.run('gone', { organizationId: 'a', job: { deed: 'busy', amount: 1 }, subject: () => 'the same' });

  await expect(ask()).rejects.toMatchObject({ code: 'service_unavailable', context: { reason: 'work_lost' } });
  await expect(ask()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(told).toContainEqual(expect.objectContaining({ reason: 'lost', told: 'no such module' }));
});

test('a job whose child dies twice is service_unavailable, and may be asked again', async () => {
  const { run, told } = poolOf();
  const subject = () => 'x';

  await expect(run('exit', 0, { subject })).rejects.toMatchObject({
    code: 'service_unavailable',
    context: { reason: 'work_lost' },
    retryAfterS: 5,
  });
  expect(told).toMatchObject([{ told: 'exit 3' }, { told: 'exit 3' }]);
  expect(await run('busy', 1, { subject })).toBe(1);
});

onLinux('a child that was stopped is a fault, not a limit: it is replaced and the job tried once more', async () => {
  const { pool, run, told } = poolOf();
  await run('busy', 0);
  const [child = 0] = pool.pids();
  process.kill(child, 'SIGSTOP');

  expect(await run('busy', 1)).toBe(1); // it never says that it has begun
  expect(told).toMatchObject([{ reason: 'lost', told: 'it was frozen', child_pid: child }]);
  expect(isAlive(child)).toBe(false);
});

onLinux('an idle child that died is replaced without a word', async () => {
  const { pool, run } = poolOf();
  await run('busy', 0);
  const [child = 0] = pool.pids();
  process.kill(child, 'SIGKILL');
  await until(() => pool.pids().length === 0);

  expect(await run('busy', 1)).toBe(1);
});

onLinux('a child has an empty environment and no descriptor of its parent, and ends when it has been idle', async () => {
  const { pool, run } = poolOf({ idleMs: 500 });

  expect(await run('environment')).toEqual({});
  const [child = 0] = pool.pids();
  const descriptors = readdirSync(`/proc/${child}/fd`).map((fd) => readlinkSync(`/proc/${child}/fd/${fd}`));
  expect(descriptors.filter((name) => name.startsWith('socket:'))).toHaveLength(1); // its own channel
  await until(() => !isAlive(child));
  expect(pool.pids()).toEqual([]);
});

test('a job whose caller leaves is given up, waiting or at work', async () => {
  const { pool, run } = poolOf({ size: 1 });
  const [working, waiting] = [new AbortController(), new AbortController()];
  const asked = [run('idle', 60_000, { signal: working.signal }), run('idle', 60_000, { signal: waiting.signal })];
  const outcomes = Promise.allSettled(asked);
  expect(pool.pids()).toHaveLength(1);
  waiting.abort(new Error('left the line'));
  working.abort(new Error('left the work'));

  expect(await outcomes).toMatchObject([{ reason: new Error('left the work') }, { reason: new Error('left the line') }]);
  expect(await run('busy', 1)).toBe(1);
});

test('close ends all children; what works or waits is service_unavailable', async () => {
  const { pool, patient } = poolOf({ size: 1 });
  const outcomes = Promise.allSettled([patient('busy', 60_000), patient('busy', 60_000)]);
  const children = pool.pids();
  await pool.close();

  expect(await outcomes).toMatchObject([{ reason: { code: 'service_unavailable' } }, { reason: { code: 'service_unavailable' } }]);
  expect(children.filter(isAlive)).toEqual([]);
  await expect(patient('busy', 1)).rejects.toMatchObject({ code: 'service_unavailable' });
});
