import { afterEach, expect, test } from '@jest/globals';
import { askForParser, filesAtOnce, type Parser } from '../../../ports/parsing/text/line.ts';
import { parserRestMs } from '../../../workflows/knowledge/parser-rest.ts';

const never = new AbortController().signal;
const held: Parser[] = [];

afterEach(() => {
  for (const parser of held.splice(0)) parser.release();
});

async function take(file: string): Promise<void> {
  held.push(parserOf(await askForParser(file, never)));
}

function parserOf(answer: Awaited<ReturnType<typeof askForParser>>): Parser {
  if ('waiting' in answer) throw new Error('turned away');
  return answer;
}

async function takeAll(): Promise<void> {
  for (let file = 0; file < filesAtOnce; file += 1) await take(`parsed-${file}`);
}

test('the first file that finds no parser free waits, and has the next one at once', async () => {
  await takeAll();
  let isBegun = false;
  const next = askForParser('next', never).then((answer) => {
    isBegun = true;
    return parserOf(answer);
  });
  await new Promise(setImmediate);
  expect(isBegun).toBe(false);

  held.shift()?.release();
  held.push(await next);
  expect(isBegun).toBe(true);
});

test('files behind it are turned away and told how many they are, each counted once', async () => {
  await takeAll();
  const next = askForParser('next', never);
  expect(await askForParser('a', never)).toEqual({ waiting: 1 });
  expect(await askForParser('b', never)).toEqual({ waiting: 2 });
  expect(await askForParser('a', never)).toEqual({ waiting: 2 });

  for (const parser of held.splice(0)) parser.release();
  held.push(parserOf(await next));
  await take('a');
  const behind = askForParser('c', never);
  expect(await askForParser('d', never)).toEqual({ waiting: 2 });
  for (const parser of held.splice(0)) parser.release();
  held.push(parserOf(await behind));
});

test('a file waits no longer than it may, and not beyond its cancellation', async () => {
  await takeAll();
  expect(await askForParser('patient', never, 20)).toHaveProperty('waiting');

  const cancel = new AbortController();
  const cancelled = askForParser('cancelled', cancel.signal);
  cancel.abort(new Error('the run was cancelled'));
  await expect(cancelled).rejects.toThrow('the run was cancelled');
});

test('a file comes back within a twentieth of what it has waited, and not often where many wait', () => {
  for (const waitedMs of [20_000, 60_000, 400_000]) expect(parserRestMs(waitedMs, 1)).toBeLessThanOrEqual(Math.max(1_000, waitedMs / 20));
  expect(parserRestMs(0, 1)).toBe(1_000);
  const perSecond = 50 / (parserRestMs(0, 50) / 1_000);
  expect(perSecond).toBeLessThanOrEqual(2.5);
});

test('a day of waiting is a few hundred calls', () => {
  let calls = 0;
  for (let waitedMs = 0; waitedMs < 86_400_000; waitedMs += parserRestMs(waitedMs, 1)) calls += 1;
  expect(calls).toBeLessThan(600);
});
