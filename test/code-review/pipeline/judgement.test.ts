import { describe, expect, test } from '@jest/globals';
import type { KnownFinding } from '../../../domain/code-review/pipeline/finding.ts';
import { followUp } from '../../../domain/code-review/pipeline/follow-up.ts';
import { passGates, type GateRules } from '../../../domain/code-review/pipeline/gates.ts';
import { mergeGroups, mergeSame } from '../../../domain/code-review/pipeline/merge.ts';
import { placeFindings } from '../../../domain/code-review/pipeline/place.ts';
import { surfaceOf, type LastReview } from '../../../domain/code-review/pipeline/surface.ts';
import { isDecided, stands } from '../../../domain/code-review/pipeline/verify.ts';
import { candidate, fileOf, hashed, mean, patchOf, rawFinding } from './samples.ts';

const rules = (given: Partial<GateRules> = {}): GateRules => ({
  files: new Map([['src/a.ts', fileOf(mean)]]),
  categories: ['bug', 'security'],
  minSeverity: 'low',
  minConfidence: () => 0.7,
  ledger: [],
  ...given,
});

const known = (given: Partial<KnownFinding> = {}): KnownFinding => ({
  id: 'k1',
  fingerprint: 'f'.repeat(64),
  state: 'open',
  path: 'src/a.ts',
  side: 'RIGHT',
  category: 'bug',
  ruleId: null,
  severity: 'high',
  evidence: 'return sum / items.length;',
  ...given,
});

const passed = (result: ReturnType<typeof passGates>) => {
  if (result.kind !== 'passed') throw new Error(`refused: ${result.reason}`);
  return result.candidate;
};

describe('gates', () => {
  test('a finding whose evidence stands in its lines passes with the anchor that it named', () => {
    expect(passed(passGates(rawFinding(), rules())).anchor).toEqual({ path: 'src/a.ts', side: 'RIGHT', startLine: 12, line: 12 });
  });

  test.each([
    ['path', { path: 'src/b.ts' }],
    ['category', { category: 'style' }],
    ['category', { category: 'made up' }],
    ['form', { severity: 'awful' }],
    ['form', { title: ' ' }],
    ['severity', { severity: 'nit' }],
    ['confidence', { confidence: 0.69 }],
    ['confidence', { confidence: Number.NaN }],
    ['evidence', { evidence_quote: 'return sum / count;' }],
    ['evidence', { evidence_quote: '}' }],
    ['evidence', { evidence_quote: '' }],
  ] as const)('%s: %j is refused', (reason, given) => {
    expect(passGates(rawFinding(given), rules())).toEqual({ kind: 'refused', reason });
  });

  test('code that was judged before is not on the surface', () => {
    const old = new Map([['src/a.ts', fileOf(mean, mean.hunks.slice(1))]]);

    expect(passGates(rawFinding(), rules({ files: old }))).toEqual({ kind: 'refused', reason: 'surface' });
  });

  test('an anchor that is off, outside the diff or across hunks moves to the one place of its evidence', () => {
    for (const lines of [
      { start_line: 10, end_line: 10 },
      { start_line: 500, end_line: 500 },
      { start_line: 12, end_line: 41 },
    ])
      expect(passed(passGates(rawFinding(lines), rules())).anchor).toMatchObject({ startLine: 12, line: 12 });
  });

  test('evidence that stands at several places, none of them the one that was named, leaves no anchor', () => {
    const twice = patchOf('src/a.ts', [{ at: 1, lines: ['+open();', ' x', ' y', ' z', ' w', '+open();'] }]);
    const asked = rules({ files: new Map([['src/a.ts', fileOf(twice)]]) });

    expect(passed(passGates(rawFinding({ start_line: 90, end_line: 90, evidence_quote: 'open();' }), asked)).anchor).toBeNull();
    expect(passed(passGates(rawFinding({ start_line: 6, end_line: 6, evidence_quote: 'open();' }), asked)).anchor).toMatchObject({
      line: 6,
    });
  });

  test('evidence on removed lines is anchored on the left', () => {
    const finding = rawFinding({ side: 'LEFT', start_line: 12, end_line: 12, evidence_quote: 'return 0;' });

    expect(passed(passGates(finding, rules())).anchor).toEqual({ path: 'src/a.ts', side: 'LEFT', startLine: 12, line: 12 });
  });

  test('what a rule or a path says of severity goes before what the model says', () => {
    const file = { ...fileOf(mean), languageRules: [{ id: 'no-div', text: 'x', severity: 'medium' as const }] };
    const asked = (more: object) => rules({ files: new Map([['src/a.ts', { ...file, ...more }]]) });

    expect(passed(passGates(rawFinding({ rule_id: 'no-div' }), asked({})))).toMatchObject({ ruleId: 'no-div', severity: 'medium' });
    expect(passed(passGates(rawFinding({ rule_id: 'invented' }), asked({})))).toMatchObject({ ruleId: null, severity: 'high' });
    const pathRules = [{ paths: ['src/**'], instructions: 'x', severity_override: 'critical' as const }];
    expect(passed(passGates(rawFinding({ rule_id: 'no-div' }), asked({ pathRules })))).toMatchObject({ severity: 'critical' });
  });
});

describe('what the ledger knows', () => {
  test('a dismissed finding stays away, reworded, in another category, on other lines, and moved', () => {
    const ledger = [known({ state: 'dismissed' })];
    const moved = patchOf('src/a.ts', [{ at: 300, lines: [' a', '+  return sum / items.length;', ' b'] }]);
    const files = new Map([['src/a.ts', fileOf(moved)]]);

    for (const given of [{}, { title: 'NaN for an empty list', scenario: 'Otherwise said.' }, { category: 'security' }, { start_line: 11 }])
      expect(passGates(rawFinding(given), rules({ ledger }))).toMatchObject({ kind: 'refused', reason: 'dismissed' });
    expect(passGates(rawFinding({ start_line: 301, end_line: 301 }), rules({ ledger, files }))).toMatchObject({ reason: 'dismissed' });
  });

  test('an open finding is known; one that was fixed and is there again keeps its fingerprint', () => {
    expect(passGates(rawFinding(), rules({ ledger: [known()] }))).toMatchObject({ kind: 'refused', reason: 'known' });
    const back = passGates(rawFinding(), rules({ ledger: [known({ state: 'fixed' })] }));
    expect(back).toMatchObject({ kind: 'passed', back: { id: 'k1' }, candidate: { fingerprint: 'f'.repeat(64) } });
    expect(passGates(rawFinding(), rules({ ledger: [known({ path: 'src/b.ts' })] }))).toMatchObject({ kind: 'passed', back: null });
  });

  test('a fingerprint has no numbers of lines and no words of the model, but code, rule and path', () => {
    const shifted = patchOf('src/a.ts', [{ ...hunkOf(0), at: 109 }]);
    const elsewhere = patchOf('src/b.ts', [{ ...hunkOf(0), at: 9 }]);
    const print = (given: Parameters<typeof rawFinding>[0], patch = mean) =>
      passed(passGates(rawFinding({ path: patch.path, ...given }), rules({ files: new Map([[patch.path, fileOf(patch)]]) }))).fingerprint;

    const own = print({});
    expect(print({ title: 'Other words', scenario: 'Other words.', severity: 'low', confidence: 1 })).toBe(own);
    expect(print({ start_line: 112, end_line: 112 }, shifted)).toBe(own);
    expect(print({}, elsewhere)).not.toBe(own);
    expect(print({ category: 'security' })).not.toBe(own);
    expect(print({ start_line: 42, end_line: 42, evidence_quote: 'return items[items.length];' })).not.toBe(own);
  });

  test('an open finding is carried while its code is part of the change, outdated when the change has it no more, and looked at again when it is other', () => {
    const patches = new Map([['src/a.ts', mean]]);
    const none = new Map([['src/a.ts', patchOf('src/a.ts', [{ at: 1, lines: ['+x();'] }])]]);
    const text = 'function mean() {\n  return sum  /  items.length;\n}\n';

    expect(followUp(known(), { patches, textOf: () => text })).toBe('carried');
    expect(followUp(known(), { patches: none, textOf: () => text })).toBe('outdated');
    expect(followUp(known(), { patches: none, textOf: () => 'repaired();\n' })).toBe('changed');
    expect(followUp(known(), { patches: none, textOf: () => null })).toBe('changed');
    expect(followUp(known({ side: 'LEFT', evidence: 'return 0;' }), { patches, textOf: () => text })).toBe('carried');
    expect(followUp(known({ side: 'LEFT', evidence: 'return 0;' }), { patches: none, textOf: () => text })).toBe('changed');
  });
});

function hunkOf(at: number) {
  const hunk = mean.hunks[at];
  if (hunk === undefined) throw new Error('no hunk');
  const signs = { context: ' ', added: '+', removed: '-' };
  return { section: hunk.section, lines: hunk.lines.map(({ kind, text }) => signs[kind] + text) };
}

describe('surface', () => {
  const head = { mergeBaseSha: 'm1', baseRef: 'main', playbookRevisionId: 'p1', isFull: false };
  const others = [1, 2, 3].map((at) => hashed(patchOf(`src/o${at}.ts`, [{ at: 1, lines: [`+o${at}();`] }])));
  const files = [hashed(mean), ...others];
  const last: LastReview = {
    mergeBaseSha: 'm1',
    baseRef: 'main',
    playbookRevisionId: 'p1',
    hashes: new Map(files.map((file) => [file.path, file.hashes])),
  };
  const edited = hashed(patchOf('src/a.ts', [hunkAt(0, 9), { at: 40, section: '', lines: [' ', '+  return items.at(-1);', ' }'] }]));

  function hunkAt(index: number, at: number) {
    return { ...hunkOf(index), at };
  }

  test('the first review is full; the same head again has nothing to judge', () => {
    expect(surfaceOf({ ...head, files }, null).mode).toBe('full');
    expect(surfaceOf({ ...head, files }, last)).toEqual({ mode: 'no_change', hunks: new Map() });
  });

  test('only the hunk whose text changed is judged again', () => {
    const surface = surfaceOf({ ...head, files: [edited, ...others] }, last);

    expect(surface.mode).toBe('incremental');
    expect([...surface.hunks].map(([path, hunks]) => [path, hunks.map(({ newStart }) => newStart)])).toEqual([['src/a.ts', [40]]]);
  });

  test.each([
    ['the base ref', { baseRef: 'next' }],
    ['the playbook', { playbookRevisionId: 'p2' }],
    ['somebody’s wish', { isFull: true }],
  ])('%s makes it full', (_what, changed) => {
    expect(surfaceOf({ ...head, files, ...changed }, last).mode).toBe('full');
  });

  test('more than half of the files makes it full, half of them does not', () => {
    const fresh = others.map((file, at) => hashed(patchOf(file.path, [{ at: 1, lines: [`+n${at}();`] }])));

    expect(surfaceOf({ ...head, files: [hashed(mean), ...fresh.slice(0, 2), ...others.slice(2)] }, last).mode).toBe('incremental');
    expect(surfaceOf({ ...head, files: [hashed(mean), ...fresh] }, last).mode).toBe('full');
  });

  test('a base that moved under a change judges nothing, though neighbours are other; on the same base they count', () => {
    const neighbour = hashed(
      patchOf('src/a.ts', [
        { ...hunkAt(0, 209), lines: hunkOf(0).lines.map((line) => line.replace('let sum = 0', 'let sum = zero')) },
        hunkAt(1, 240),
      ]),
    );

    expect(surfaceOf({ ...head, mergeBaseSha: 'm2', files: [neighbour, ...others] }, last).mode).toBe('no_change');
    expect(surfaceOf({ ...head, files: [neighbour, ...others] }, last).mode).toBe('incremental');
  });
});

describe('second look, merging and placement', () => {
  const vote = (yes: boolean, confidence = 0.9) => ({ stands: yes, confidence });

  test('a majority decides, and no more votes are asked for than it takes', () => {
    expect([isDecided([vote(true)], 3), isDecided([vote(true), vote(true)], 3), isDecided([vote(true), vote(false)], 3)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(stands([vote(true), vote(true)], 3, 0.7)).toBe(true);
    expect(stands([vote(true), vote(false), vote(false)], 3, 0.7)).toBe(false);
    expect(stands([vote(true)], 3, 0.7)).toBe(false);
    expect(stands([vote(true, 0.6), vote(true, 0.6), vote(true, 0.99)], 3, 0.7)).toBe(false);
  });

  test('one root cause is one finding, told at its worst place, with the others beside it', () => {
    const again = candidate({
      fingerprint: 'b'.repeat(64),
      path: 'src/b.ts',
      anchor: { path: 'src/b.ts', side: 'RIGHT', startLine: 3, line: 4 },
      severity: 'low',
    });
    const merged = mergeSame([again, candidate(), candidate({ title: 'Said otherwise', confidence: 0.8 })]);

    expect(merged).toEqual([candidate({ alsoAt: [{ path: 'src/b.ts', line: 4 }] })]);
    const two = [
      candidate(),
      candidate({
        fingerprint: 'c'.repeat(64),
        title: 'Else',
        evidence: 'else();',
        anchor: { path: 'src/a.ts', side: 'RIGHT', startLine: 42, line: 42 },
      }),
    ];
    expect(mergeSame(two)).toHaveLength(2);
    expect(mergeGroups(two, [[0, 1, 1, 7], [1]])).toEqual([{ ...two[0], alsoAt: [{ path: 'src/a.ts', line: 42 }] }]);
  });

  test('worst and surest first; what has no room, no lines or no weight is told in the summary', () => {
    const each = (name: string, given: Parameters<typeof candidate>[0]) => candidate({ fingerprint: name, title: name, ...given });
    const placed = placeFindings(
      [
        each('low', { severity: 'low' }),
        each('nit', { severity: 'nit' }),
        each('critical', { severity: 'critical', confidence: 0.8 }),
        each('file', { anchor: null }),
        each('lost', { anchor: null, severity: 'medium' }),
        each('refused', {}),
      ],
      { maxComments: 3, inlineMin: 'low', isCommentable: ({ title }) => title !== 'refused' },
    );

    expect(placed.map(({ title, placement }) => [title, placement])).toEqual([
      ['critical', 'inline'],
      ['file', 'file'],
      ['refused', 'summary'],
      ['lost', 'summary'],
      ['low', 'inline'],
      ['nit', 'summary'],
    ]);
    expect(
      placeFindings([candidate(), candidate({ fingerprint: 'z' })], { maxComments: 1, inlineMin: 'low', isCommentable: () => true }).map(
        ({ placement }) => placement,
      ),
    ).toEqual(['inline', 'summary']);
  });
});
