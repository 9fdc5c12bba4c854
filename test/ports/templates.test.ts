import { afterAll, expect, test } from '@jest/globals';
import { createTemplates, TemplateError } from '../../ports/templates.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const templates = createTemplates(pool).of('a');

afterAll(() => pool.close());

test('values are filled in and missing roots are told', async () => {
  const rendered = await templates.render('Hi {{ vars.name | upcase }}{{ nobody.x }}', { vars: { name: 'ada' } });

  expect(rendered).toEqual({ text: 'Hi ADA', missing: ['nobody'] });
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

test('after a killed template the next one renders', async () => {
  await templates
    .render('{% for a in (1..9000) %}{% for b in (1..9000) %}{% assign x = a | times: b %}{% endfor %}{% endfor %}', {})
    .catch(() => undefined);

  expect((await templates.render('{{ a }}', { a: 1 })).text).toBe('1');
});
