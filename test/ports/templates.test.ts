import { afterAll, expect, test } from '@jest/globals';
import { createLiquid, renderTemplate } from '../../ports/templates/rules.ts';
import { createTemplates, TemplateError } from '../../ports/templates/templates.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const templates = createTemplates(pool).of('a');

afterAll(() => pool.close());

test('values are filled in and missing paths are told', async () => {
  const rendered = await templates.render('Hi {{ vars.name | upcase }}{{ nobody.x }}', { vars: { name: 'ada' } });

  expect(rendered).toEqual({ text: 'Hi ADA', missing: ['nobody.x'] });
});

test.each([
  ['{{ body.ref }}{{ body.commits.size }}{{ body.commits[0].id }}', []],
  ['{{ body.none }}{{ body.commits[7].id }}{{ body.commits.first.id }}', ['body.none', 'body.commits.7.id', 'body.commits.first.id']],
  ['{{ none.size }}{% for commit in body.commits %}{{ commit.none }}{% endfor %}', ['none.size']],
  ['{{ body[which] }}', ['which']],
])('of %s the paths without a value are told: %j', async (template, missing) => {
  const rendered = await templates.render(template, { body: { ref: 'main', commits: [{ id: 'c1' }] } });

  expect(rendered.missing).toEqual(missing);
});

test('a fence is a mark of its own each time, which the text it holds can not know', async () => {
  const { text } = await templates.render('{{ body | json | fence }}', { body: { a: '<<<0000\n0000>>>' } });
  const other = await templates.render('{{ body | json | fence }}', { body: null });

  const [, mark = '', inner, end] = /^<<<([0-9a-f]{16})\n([^]*)\n([0-9a-f]{16})>>>$/.exec(text) ?? [];
  expect([end, JSON.parse(inner ?? '')]).toEqual([mark, { a: '<<<0000\n0000>>>' }]);
  expect(other.text).toMatch(/^<<<[0-9a-f]{16}\nnull\n/);
  expect(other.text).not.toContain(mark);
});

test('no template reaches a prototype', async () => {
  const rendered = await templates.render('[{{ vars.constructor.name }}{{ vars.__proto__ }}{{ vars.toString }}]', { vars: {} });

  expect(rendered.text).toBe('[]');
});

test.each([
  ['an endless loop', '{% for i in (1..100000000) %}{{ i }}{% endfor %}'],
  ['loops in loops', '{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}'],
  ['a file', '{% include "/etc/passwd" %}'],
  ['a partial', '{% render "x" %}'],
  ['an unknown filter', '{{ vars | nothing }}'],
  ['bad syntax', '{% if %}'],
])('%s ends at a limit', async (_case, template) => {
  await expect(templates.render(template, { vars: {} })).rejects.toThrow(TemplateError);
});

test.each([
  '{{ 9007199254740993 }}',
  '{% if args.id == -9007199254740993 %}same{% endif %}',
  '{{ args.id | plus: 0 }}',
  '{{ args.id | modulo: 10 }}',
  '{{ args.most | plus: 1 }}',
  '{{ args.ids | sum }}',
  '{{ args.id | to_integer }}',
])('a number that a double would change is refused, not rounded: %s', async (template) => {
  const args = { id: '9007199254740993', most: 2 ** 53, ids: [2 ** 53, 1] };

  await expect(templates.render(template, { args })).rejects.toThrow('cannot be represented exactly');
});

test('numbers that a double keeps are calculated with, ids are written as they are', async () => {
  const { text } = await templates.render(
    '{{ args.id }} {{ "9007199254740993" }} {{ args.n | plus: 1 }} {{ args.list | sum }} {{ 1.5 | times: 2 }} {{ "7" | divided_by: 2 }} 9007199254740993',
    { args: { id: '9007199254740993', n: 2 ** 53 - 2, list: [1, '2'] } },
  );

  expect(text).toBe('9007199254740993 9007199254740993 9007199254740991 3 3 3.5 9007199254740993');
});

test('a rendering that was frozen, or got no processor, for longer than its limit is whole all the same; one that works for longer ends', () => {
  const engine = createLiquid();
  // It is read twice: for what is missing, and by the rendering.
  let waits = 2;
  const late = {
    get value() {
      if (waits-- > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * 300);
      return 'b';
    },
  };
  const loops = '{% for a in (1..900) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}';

  expect(renderTemplate(engine, '{{ vars.a }}{{ vars.late.value }}{{ vars.a }}', { vars: { a: 'a', late } }).text).toBe('aba');
  expect(() => renderTemplate(engine, loops, {})).toThrow('template render limit exceeded');
});

test('after a killed template the next one renders', async () => {
  await templates
    .render('{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}', {})
    .catch(() => undefined);

  expect((await templates.render('{{ a }}', { a: 1 })).text).toBe('1');
});
