import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { documented } from '../metrics/documented.ts';

const root = join(import.meta.dirname, '../..');
const metrics = new Map(documented().map(({ name, type, labels }) => [name, { type, labels }]));
/** Metrics of every Node process (prom-client), and labels that Prometheus adds to each. */
const usual = /^(?:process|nodejs)_/;
const added = new Set(['instance', 'job', 'le']);

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

const rules = (
  parse(readFileSync(join(root, 'deploy/prometheus/longhaul.rules.yaml'), 'utf8')) as { groups: { rules: Alert[] }[] }
).groups.flatMap((group) => group.rules);

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana/longhaul.json'), 'utf8')) as { panels: Panel[] };
const targets = dashboard.panels.flatMap(({ title, targets: asked = [] }) =>
  asked.map(({ expr, legendFormat }) => ({ title, expr: expr.replaceAll('$__rate_interval', '5m'), legendFormat })),
);

/** What is wrong with an expression, by the grammar of Prometheus' own editor and the list of metrics. */
function faultsOf(expr: string): string[] {
  const faults: string[] = [];
  const textOf = ({ from, to }: { from: number; to: number }) => expr.slice(from, to);
  parser.parse(expr).iterate({
    enter(node) {
      if (node.type.isError) faults.push(`no PromQL at ${node.from}`);
      if (node.name !== 'VectorSelector') return;
      const name = textOf(node.node.getChild('Identifier') ?? node);
      const base = metrics.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
      const metric = metrics.get(base);
      if (!metric && !usual.test(name)) faults.push(`${name} is no metric`);
      if (metric && (metric.type === 'histogram') !== (base !== name)) faults.push(`${name} is a ${metric.type}`);
      for (const matcher of node.node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []) {
        const label = textOf(matcher.getChild('LabelName') ?? matcher);
        if (metric && !metric.labels.includes(label) && !added.has(label)) faults.push(`${name} has no label ${label}`);
      }
    },
  });
  return faults;
}

/** Labels that are grouped by or named in a legend, of which the expression's metrics have none. */
function strangeLabels(expr: string, template = ''): string[] {
  const names = [...expr.matchAll(/[a-z_]+/g)].flatMap(
    ([word]) => metrics.get(word) ?? metrics.get(word.replace(/_(?:bucket|sum|count)$/, '')) ?? [],
  );
  const known = new Set([...added, ...names.flatMap(({ labels }) => labels)]);
  const asked = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()));
  const shown = [...template.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g)].map(([, label = '']) => label);
  return [...asked, ...shown].filter((label) => !known.has(label));
}

test.each(rules)('the alert $alert asks for metrics and labels that exist, and says what to do', ({ expr, annotations, labels }) => {
  expect(faultsOf(expr)).toEqual([]);
  expect(strangeLabels(expr, Object.values(annotations).join(' '))).toEqual([]);
  expect(annotations).toMatchObject({ summary: expect.any(String), description: expect.any(String) });
  expect(['critical', 'warning', 'info']).toContain(labels['severity']);
});

test.each(targets)('the panel "$title" asks for metrics and labels that exist: $expr', ({ expr, legendFormat }) => {
  expect(faultsOf(expr)).toEqual([]);
  expect(strangeLabels(expr, legendFormat)).toEqual([]);
});

test('the panels of the dashboard lie beside each other, and every metric of ours that can alert has one or a rule', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)}/${y + Math.floor(n / w)}`),
  );
  const shown = [...rules, ...targets].map(({ expr }) => expr).join('\n');

  expect(cells.length).toBe(new Set(cells).size);
  expect([...metrics.keys()].filter((name) => !shown.includes(name) && !usual.test(name))).toEqual([
    'longhaul_database_connections_idle',
    'longhaul_database_connections_max',
    'longhaul_worker_cached_workflows',
  ]);
});

test('an expression that names what does not exist is found', () => {
  expect(faultsOf('rate(longhaul_runs_total[5m])')).toEqual(['longhaul_runs_total is no metric']);
  expect(faultsOf('longhaul_outbox_due{kind="x"}')).toEqual(['longhaul_outbox_due has no label kind']);
  expect(faultsOf('rate(longhaul_run_duration_seconds[5m])')).toEqual(['longhaul_run_duration_seconds is a histogram']);
  expect(faultsOf('sum(longhaul_outbox_due')[0]).toMatch(/^no PromQL at /);
  expect(strangeLabels('sum by (kind) (longhaul_outbox_due)', '{{queue}}')).toEqual(['kind', 'queue']);
});
