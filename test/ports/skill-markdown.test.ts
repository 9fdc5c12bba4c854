import { expect, test } from '@jest/globals';
import { readSkillMarkdown } from '../../ports/skills/markdown.ts';
import { cpuMs } from '../support/cpu.ts';

const plain =
  '---\nname: notes\ndescription: How we write notes.\nlicense: MIT\nallowed-tools: Bash(rm:*)\n---\n\n# Notes\n\nOne line each.\n';
const read = (source: string) => readSkillMarkdown(source, '/markdown');
const faultOf = (source: string) => {
  try {
    return read(source);
  } catch (error) {
    return error;
  }
};

test('front matter gives name and description, the body the instructions; the rest is kept', () => {
  expect(read(plain)).toEqual({
    name: 'notes',
    description: 'How we write notes.',
    instructions: '# Notes\n\nOne line each.',
    rest: { 'license': 'MIT', 'allowed-tools': 'Bash(rm:*)' },
    warnings: [],
  });
});

test.each([
  ['a byte order mark', `\uFEFF${plain}`],
  ['CRLF', plain.replaceAll('\n', '\r\n')],
  ['both', `\uFEFF${plain.replaceAll('\n', '\r\n')}`],
  ['CR alone', plain.replaceAll('\n', '\r')],
  ['blank lines above', `\n \n${plain}`],
  ['tabs behind the marks', plain.replace('---\n', '---\t\n').replace('\n---\n', '\n---\t \n')],
  ['dots at the end of the front matter', plain.replace('\n---\n', '\n...\n')],
  ['no last newline', plain.trimEnd()],
  ['more blank lines', `${plain.replace('---\n\n#', '--- \n\n \n\n#')}\n\n`],
])('a SKILL.md with %s reads like the plain one', (_name, source) => {
  expect(read(source)).toEqual(read(plain));
});

test('text without front matter is all body; hyphens inside a text end nothing', () => {
  expect(read('# Only text\n')).toEqual({ name: null, description: null, instructions: '# Only text', rest: null, warnings: [] });
  expect(read('---\nname: a\n---\nabove\n\n---\n\nbelow').instructions).toBe('above\n\n---\n\nbelow');
  expect(read('---\n---\ntext')).toEqual({ name: null, description: null, instructions: 'text', rest: null, warnings: [] });
});

test('the core schema reads dates and yes as texts', () => {
  expect(read('---\nname: a\nsince: 2026-01-31\nsure: yes\nwhole: 7\n---\nx').rest).toEqual({ since: '2026-01-31', sure: 'yes', whole: 7 });
});

test('a number that a double would change is kept as it is written', () => {
  const { rest } = read('---\nid: 1234567890123456789\nkept: 9007199254740992\npart: 0.1\n---\nx');

  expect(rest).toEqual({ id: '1234567890123456789', kept: 2 ** 53, part: 0.1 });
});

test.each([
  ['no end', '---\nname: a\n\ntext'],
  ['an alias', '---\na: &x [1]\nb: *x\n---\nt'],
  ['aliases that multiply', `---\na: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n---\nt`],
  ['two equal keys', '---\nname: a\nname: b\n---\nt'],
  ['a tag of a language', '---\nname: !!js/function "x"\n---\nt'],
  ['a list', '---\n- name\n---\nt'],
  ['a text', '---\nname\n---\nt'],
  ['a name that is a map', '---\nname: {a: b}\n---\nt'],
  ['a key that is a list', '---\n? [a]\n: b\n---\nt'],
  ['a prototype', '---\n__proto__: {a: b}\n---\nt'],
  ['U+0000', '---\nname: "a\\0b"\n---\nt'],
  ['half a surrogate', '---\nx: "\\uD800"\n---\nt'],
  ['more than 16 KiB', `---\nx: ${'a'.repeat(16_385)}\n---\nt`],
  ['a deep nest', `---\nx: ${'['.repeat(8_000)}${']'.repeat(8_000)}\n---\nt`],
  ['dashes and spaces', `---\n${'-  '.repeat(5_000)}"\n---\nt`],
  ['a key that never ends', `---\n[\na${' '.repeat(16_000)}b\n---\nt`],
  ['quotes that never end', `---\n${"a: '\n".repeat(3_001)}---\nt`],
  ['a nest of maps', `---\n${Array.from({ length: 100 }, (_, at) => `${' '.repeat(at)}k:`).join('\n')}\n---\nt`],
  ['broken YAML', '---\nname: [a\n---\nt'],
])('front matter with %s is 422', (_name, source) => {
  const began = cpuMs();

  expect(faultOf(source)).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/markdown' }] });
  expect(cpuMs() - began).toBeLessThan(1_000);
});

test.each([
  ['a colon in a text', 'description: Use when X. Keywords: foo', { description: 'Use when X. Keywords: foo' }, [2]],
  [
    'a colon on a further line',
    'description: Use when X.\n  Keywords: foo\n\n  and more\nlicense: MIT',
    { description: 'Use when X. Keywords: foo\nand more', rest: { license: 'MIT' } },
    [2],
  ],
  ['a colon at the end', 'name: a\ndescription: Use this for:\n  - one\n  - two', { description: 'Use this for: - one - two' }, [3]],
  ['a number sign in a text', 'description: Fix issue #1', { description: 'Fix issue #1' }, [2]],
  ['a number sign that begins it', 'channel: #general', { rest: { channel: '#general' } }, [2]],
  ['a number sign in a list', 'tags:\n  - C #1\n  - b: c', { rest: { tags: ['C #1', { b: 'c' }] } }, [3]],
  ['texts further in', 'metadata:\n  note: Closes #1: now\n  n: 1', { rest: { metadata: { note: 'Closes #1: now', n: 1 } } }, [3]],
  [
    'a comment',
    'name: a\ndescription: Does it # well\n# all\nmetadata: # more\n  k: v',
    { description: 'Does it', rest: { metadata: { k: 'v' } } },
    [3],
  ],
  [
    'marks that YAML reads',
    'description: *Bold* words\nby: @me\nin: `code`\nbeta: [Beta] words [now]',
    { description: '*Bold* words', rest: { by: '@me', in: '`code`', beta: '[Beta] words [now]' } },
    [2, 3, 4, 5],
  ],
  ['quotes inside', "description: 'it's' here\nsay: \"Hi\" to all", { description: "'it's' here", rest: { say: '"Hi" to all' } }, [2, 3]],
  [
    'digits that a number would lose',
    'name: 007\nversion: 1.10\nid: 12345678901234567890\nx: 0x10',
    { name: '007', rest: { version: '1.10', id: '12345678901234567890', x: '0x10' } },
    [2, 3, 4, 5],
  ],
  ['tabs', 'metadata:\n\tk: v\nname:\ta', { name: 'a', rest: { metadata: { k: 'v' } } }, [3]],
] as const)('front matter is taken as it stands, and what YAML would read otherwise is told: %s', (_name, yaml, expected, lines) => {
  const { warnings, ...skill } = read(`---\n${yaml}\n---\ntext`);

  expect(skill).toMatchObject(expected);
  expect(warnings.map((warning) => Number(/^line (\d+): /.exec(warning)?.[1])).toSorted((left, right) => left - right)).toEqual(lines);
});

test.each([
  [
    'block texts',
    'description: >-\n  Use: this #1\n  well\nlong: |\n  a: b\n\n  # c',
    { description: 'Use: this #1 well', rest: { long: 'a: b\n\n# c\n' } },
  ],
  [
    'quoted texts',
    "description: \"a: b # c\n  d: e\"\nsay: 'it''s: # so' # a comment",
    { description: 'a: b # c d: e', rest: { say: "it's: # so" } },
  ],
  [
    'lists and maps in one line',
    'a: [x, "y: z"]\nf: [[1], {g: {h: 2}}] # c\nb: {c: 1,\n  d: 2}\ne: []',
    { rest: { a: ['x', 'y: z'], f: [[1], { g: { h: 2 } }], b: { c: 1, d: 2 }, e: [] } },
  ],
  [
    'addresses',
    'allowed-tools: Bash(git add:*), Read\nurl: https://example.com/#part',
    { rest: { 'allowed-tools': 'Bash(git add:*), Read', 'url': 'https://example.com/#part' } },
  ],
  ['hyphens inside of a text', 'description: |\n  a\n  ---\n  b', { description: 'a\n---\nb' }],
] as const)('what YAML reads whole is left to it, without a word: %s', (_name, yaml, expected) => {
  expect(read(`---\n${yaml}\n---\ntext`)).toMatchObject({ ...expected, warnings: [] });
});

test.each([
  ['name: a\nname: b', 3],
  ['name: a\ntags:\n  - a\n - b', 5],
  ['name: a\nb: &x 1\nc: *x', 4],
  ['name: a\nb: !!js/function "x"', 3],
  ['name: a\nb: - x', 3],
])('what can not be read is told with its line: %j', (yaml, line) => {
  const told = { errors: [{ message: expect.stringContaining(`Line ${line}: `) }] };

  expect(faultOf(`---\n${yaml}\n---\ntext`)).toMatchObject(told);
  expect(faultOf(`\uFEFF---\r\n${yaml.replaceAll('\n', '\r\n')}\r\n---\r\ntext`)).toMatchObject(told);
});
