import { expect, test } from '@jest/globals';
import { commentable, type Side } from '../../../ports/diff/anchors.ts';
import { parseHunks, parsePatch, type FilePatch } from '../../../ports/diff/patch.ts';
import { writeHunks } from '../../../ports/diff/line-diff.ts';
import { createRepository } from './repository.ts';

/** A generator of numbers that begins the same each time (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const words = ['a', 'b', '', '\r', '\t', '-- a/x', '++ b/x', '@@ -1 +1 @@', 'diff --git a/a b/a', '}', 'ü', '\\ No newline'];

function randomFile(random: (below: number) => number): string[] {
  return Array.from({ length: 20 + random(120) }, () => `${words[random(words.length)]}${random(3) === 0 ? random(1_000) : ''}`);
}

function edit(lines: readonly string[], random: (below: number) => number): string[] {
  const edited = [...lines];
  for (let edits = 1 + random(12); edits > 0; edits--) {
    const at = random(edited.length + 1);
    const kind = random(3);
    if (kind === 0) edited.splice(at, 0, ...randomFile(random).slice(0, 1 + random(4)));
    else if (kind === 1) edited.splice(at, 1 + random(3));
    else edited.splice(at, 1, `changed ${random(1_000)}`);
  }
  return edited;
}

/** Which lines of each side stand in the hunks of a file, read off the text of git by another rule than the parser's: each line's first character. */
function oracle(text: string): Map<string, number> {
  const hunkOf = new Map<string, number>();
  let hunk = -1;
  let left = { old: 0, new: 0, oldAt: 0, newAt: 0 };
  for (const line of text.split('\n')) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (head && left.old === 0 && left.new === 0) {
      hunk += 1;
      left = { oldAt: Number(head[1]), old: Number(head[2] ?? 1), newAt: Number(head[3]), new: Number(head[4] ?? 1) };
    } else if (left.old > 0 && line.startsWith('-')) {
      hunkOf.set(`LEFT ${left.oldAt++}`, hunk);
      left.old--;
    } else if (left.new > 0 && line.startsWith('+')) {
      hunkOf.set(`RIGHT ${left.newAt++}`, hunk);
      left.new--;
    } else if (left.old > 0 && line.startsWith(' ')) {
      hunkOf.set(`RIGHT ${left.newAt++}`, hunk);
      left.oldAt++;
      left.old--;
      left.new--;
    }
  }
  return hunkOf;
}

test('of 10,000 random hunks, an anchor is accepted exactly where its lines stand in one hunk, and shows the lines of the file', () => {
  using repository = createRepository();
  const random = createRandom(20_261_130);
  const pairs = Array.from({ length: 3_300 }, () => {
    const before = randomFile(random);
    return { before, after: edit(before, random) };
  });
  const nameOf = (at: number) => `f${String(at).padStart(5, '0')}`;
  for (const [at, { before }] of pairs.entries()) repository.write(nameOf(at), before.join('\n'));
  const from = repository.commit();
  for (const [at, { after }] of pairs.entries()) repository.write(nameOf(at), after.join('\n'));
  const text = repository.diff(from, repository.commit()).toString();

  const patches = new Map(parsePatch(text).map((patch): [string, FilePatch] => [patch.path, patch]));
  const sections = new Map(text.split(/^(?=diff --git a\/f)/m).map((section) => [section.slice(13, 19), section]));
  let hunks = 0;
  for (const [at, { before, after }] of pairs.entries()) {
    const patch = patches.get(nameOf(at));
    if (patch === undefined) continue;
    hunks += patch.hunks.length;
    expect(parseHunks(writeHunks(patch.hunks))).toEqual(patch.hunks);
    expectSame({ patch, before, after, expected: oracle(sections.get(nameOf(at)) ?? ''), random });
  }
  expect(hunks).toBeGreaterThanOrEqual(10_000);
});

interface Compared {
  readonly patch: FilePatch;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly expected: ReadonlyMap<string, number>;
  readonly random: (below: number) => number;
}

function expectSame({ patch, before, after, expected, random }: Compared): void {
  const where = commentable(patch);
  const faults: string[] = [];
  for (const [side, lines] of [
    ['LEFT', before],
    ['RIGHT', after],
  ] as const satisfies [Side, readonly string[]][]) {
    for (let line = 0; line <= lines.length + 1; line++) {
      const startLine = random(2) === 0 ? line : Math.max(0, line - random(6));
      const hunk = where.hunkOf({ side, startLine, line });
      const ends = [expected.get(`${side} ${startLine}`), expected.get(`${side} ${line}`)];
      const isIn = ends[0] !== undefined && ends[0] === ends[1];
      if ((hunk !== null) !== isIn) faults.push(`${patch.path} ${side} ${startLine}-${line}: ${hunk !== null}`);
      const shown = where.linesOf({ side, startLine, line });
      const text = shown.at(-1)?.text;
      if (isIn && text !== lines[line - 1]) faults.push(`${patch.path} ${side} ${line}: ${text} is not ${lines[line - 1]}`);
    }
  }
  expect(faults).toEqual([]);
}
