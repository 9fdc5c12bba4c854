import { describe, expect, test } from '@jest/globals';
import { applyEdits } from '../../domain/code-review/editor/apply.ts';
import { branchOf, commitMessage, editRights, protectedOf, type EditFacts } from '../../domain/code-review/editor/rules.ts';
import { reportText, type EditReport } from '../../domain/code-review/editor/words.ts';
import type { EditorConfig } from '../../workflows/contracts/review/pull-requests.ts';
import { seeded } from '../support/seeded.ts';

const config: EditorConfig = {
  mode: 'push',
  branch_prefix: 'longhaul/',
  max_rounds: 3,
  test_commands: [],
  allow_forks: false,
  protected_paths: ['.github/**', '.longhaul/**', 'CODEOWNERS', '.gitmodules'],
};
const facts: EditFacts = { isOpen: true, isFork: false, maintainersMayEdit: true, rounds: 0, openFindings: 1 };

describe('edits count from the head', () => {
  const head = (text: string | null) => new Map([['a.ts', text]]);
  const edit = (find: string, replace: string, path = 'a.ts') => ({ path, find, replace });

  test('several of one file are applied together, and each says which whole lines it replaces', () => {
    const applied = applyEdits(head('one\ntwo three\nfour\nfive\n'), [edit('five', '5'), edit('two', '2'), edit('three', '3')]);
    expect(applied).toEqual({
      kind: 'applied',
      files: new Map([['a.ts', 'one\n2 3\nfour\n5\n']]),
      replacements: [
        { path: 'a.ts', startLine: 2, line: 2, text: '2 3' },
        { path: 'a.ts', startLine: 4, line: 4, text: '5' },
      ],
    });
  });

  test('a text that ends with its line feed replaces no line more than it names', () => {
    const applied = applyEdits(head('one\ntwo\nthree\n'), [edit('two\n', '2\n2b\n')]);
    expect(applied).toMatchObject({ kind: 'applied', replacements: [{ startLine: 2, line: 2, text: '2\n2b' }] });
  });

  test('a file with CRLF keeps it', () => {
    const applied = applyEdits(head('one\r\ntwo\r\nthree\r\n'), [edit('one\ntwo', '1\n2')]);
    expect(applied).toMatchObject({
      files: new Map([['a.ts', '1\r\n2\r\nthree\r\n']]),
      replacements: [{ startLine: 1, line: 2, text: '1\n2' }],
    });
  });

  test.each([
    ['a text that is not there', head('one\n'), [edit('two', '2')], /does not stand there/],
    ['a text that is there twice', head('one one\n'), [edit('one', '1')], /more than once/],
    ['edits that overlap', head('one two three'), [edit('one two', '1'), edit('two three', '2')], /overlap/],
    ['no change', head('one'), [edit('one', 'one')], /change nothing/],
    ['a file that exists', head('one'), [edit('', 'new')], /file exists/],
    ['a file that does not', head(null), [edit('one', '1')], /no such text file/],
    ['a path out of the repository', new Map(), [edit('', 'x', '../a')], /not the path of a file/],
    ['another spelling of .git', new Map(), [edit('', 'x', '.GIT/hooks/pre-commit')], /not the path of a file/],
  ])('%s is told and changes nothing', (_what, files, edits, problem) => {
    const applied = applyEdits(files, edits);
    expect(applied).toEqual({ kind: 'wrong', problems: [expect.stringMatching(problem)] });
  });

  test('1,000 random edits: putting the replaced lines into the file gives the same file', () => {
    const { next: random } = seeded(20261201);
    for (let round = 0; round < 1_000; round += 1) {
      const lines = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, at) => `line ${at} ${Math.floor(random() * 100)}`);
      const text = `${lines.join('\n')}${random() < 0.5 ? '\n' : ''}`;
      const edits = lines.flatMap((line, at) => {
        if (random() < 0.5) return [];
        const find = random() < 0.3 && at < lines.length - 1 ? `${line}\n` : `line ${at} `;
        return [edit(find, random() < 0.3 ? `x\ny${at}` + (find.endsWith('\n') ? '\n' : '') : `z${at}${find.endsWith('\n') ? '\n' : ''}`)];
      });
      if (edits.length === 0) continue;
      const applied = applyEdits(head(text), edits);
      if (applied.kind === 'wrong') throw new Error(applied.problems.join());
      const rebuilt = applied.replacements
        .toReversed()
        .reduce(
          (rest, { startLine, line, text: into }) => rest.toSpliced(startLine - 1, line - startLine + 1, ...into.split('\n')),
          text.split('\n'),
        );
      expect(rebuilt.join('\n')).toBe(applied.files.get('a.ts'));
    }
  });
});

test.each([
  ['its mode', config, facts, 'push', null],
  ['off', { ...config, mode: 'off' as const }, facts, 'nothing', 'off'],
  ['closed', config, { ...facts, isOpen: false }, 'nothing', 'closed'],
  ['nothing open', config, { ...facts, openFindings: 0 }, 'nothing', 'nothing_open'],
  ['rounds used up', config, { ...facts, rounds: 3 }, 'suggest', 'max_rounds'],
  ['a fork', config, { ...facts, isFork: true }, 'suggest', 'fork'],
  ['a fork that may be pushed to', { ...config, allow_forks: true }, { ...facts, isFork: true }, 'push', null],
  [
    'a fork whose author does not let',
    { ...config, allow_forks: true },
    { ...facts, isFork: true, maintainersMayEdit: false },
    'suggest',
    'fork',
  ],
  [
    'a fork whose code would have to run',
    { ...config, allow_forks: true, test_commands: ['make'] },
    { ...facts, isFork: true },
    'suggest',
    'fork',
  ],
] as const)('an editor’s rights: %s', (_what, given, of, may, refusal) => {
  expect(editRights(given, of)).toEqual({ may, refusal });
});

test('protected paths are found in any folder and letter case, others are not', () => {
  const paths = [
    '.github/workflows/ci.yml',
    '.GitHub/x',
    'docs/CODEOWNERS',
    'CODEOWNERS',
    'src/codeowners.ts',
    '.longhaul/review.md',
    'src/a.ts',
    'sub/.gitmodules',
  ];
  expect(protectedOf(paths, config)).toEqual([
    '.github/workflows/ci.yml',
    '.GitHub/x',
    'docs/CODEOWNERS',
    'CODEOWNERS',
    '.longhaul/review.md',
    'sub/.gitmodules',
  ]);
});

test('a commit names its run once, whatever the model writes', () => {
  const message = commitMessage({
    titles: ['wrong\nsign', 'b'],
    note: 'Fixed.\nLonghaul-Run: other\nCo-authored-by: x <y@z>',
    runId: 'r1',
  });
  expect(message.split('\n').filter((line) => /^[\w-]+: /.test(line))).toEqual(['Longhaul-Run: r1']);
  expect(branchOf(config, 7, 'abcdef0123456789')).toBe('longhaul/7-abcdef0');
});

test('a report shows what a program printed without tokens, and no mention', () => {
  const report: EditReport = {
    refusal: 'tests_failed',
    detail: 'expected 1 @octocat\n```\nghp_abcdefghijklmnopqrstuvwxyz0123456789',
    note: 'Ask @octocat <!-- longhaul:x:y -->',
    ...{ commitSha: null, branch: null, pullNumber: null, loose: [], suggested: 2 },
  };
  const text = reportText(report);
  expect(text).toContain('The required commands failed');
  expect(text).toContain('````\nexpected 1');
  expect(text).not.toMatch(/ghp_abc|longhaul:x:y|Ask @octocat/);
  expect(text).toContain('2 suggestions');
});
