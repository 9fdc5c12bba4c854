import { expect, test } from '@jest/globals';
import { readSkillMarkdown } from '../../ports/skill-markdown.ts';
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
  });
});

test.each([
  ['a byte order mark', `\uFEFF${plain}`],
  ['CRLF', plain.replaceAll('\n', '\r\n')],
  ['both', `\uFEFF${plain.replaceAll('\n', '\r\n')}`],
  ['no last newline', plain.trimEnd()],
  ['more blank lines', `${plain.replace('---\n\n#', '--- \n\n \n\n#')}\n\n`],
])('a SKILL.md with %s reads like the plain one', (_name, source) => {
  expect(read(source)).toEqual(read(plain));
});

test('text without front matter is all body; hyphens inside a text end nothing', () => {
  expect(read('# Only text\n')).toEqual({ name: null, description: null, instructions: '# Only text', rest: null });
  expect(read('---\nname: a\n---\nabove\n\n---\n\nbelow').instructions).toBe('above\n\n---\n\nbelow');
  expect(read('---\n---\ntext')).toEqual({ name: null, description: null, instructions: 'text', rest: null });
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
  ['a number that is none', '---\nx: .nan\n---\nt'],
  ['more than 16 KiB', `---\nx: ${'a'.repeat(16_385)}\n---\nt`],
  ['a deep nest', `---\nx: ${'['.repeat(8_000)}${']'.repeat(8_000)}\n---\nt`],
  ['a nest of maps', `---\n${Array.from({ length: 100 }, (_, at) => `${' '.repeat(at)}k:`).join('\n')}\n---\nt`],
  ['broken YAML', '---\nname: [a\n---\nt'],
])('front matter with %s is 422', (_name, source) => {
  const began = cpuMs();

  expect(faultOf(source)).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/markdown' }] });
  expect(cpuMs() - began).toBeLessThan(1_000);
});
