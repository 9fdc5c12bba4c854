import { holds, type Bench, type Budget, type Finding, type Check, type Outcome, type Spread } from './bench.ts';

export interface Reported {
  readonly bench: Bench;
  /** What went wrong instead of an outcome. */
  readonly result: Outcome | Error;
}

/** One bench as Markdown: what it compares, the ratios, the counts. */
export function section({ bench, result }: Reported): string {
  const head = `## ${bench.name}\n\n${bench.about}\n`;
  if (result instanceof Error) return `${head}\nCould not be measured: ${result.message}\n`;

  const ratios = table(
    ['', 'floor', 'product', 'ratio: median (min–max)', 'rounds', 'budget', ''],
    result.findings.map((found) => [
      found.what,
      amount(found.floor, found.unit),
      amount(found.product, found.unit),
      spread(found.ratio),
      String(found.rounds),
      budgetText(found.budget, ' ×'),
      verdict(found),
    ]),
  );
  const counts = table(
    ['count', 'value', 'budget', ''],
    result.checks.map((gate) => [
      gate.what,
      digits(gate.value),
      budgetText(gate.budget, ''),
      holds(gate.value, gate.budget) ? 'held' : '**over**',
    ]),
  );
  const facts = (result.tables ?? []).map(({ head: names, lines }) => table(names, lines));
  return [head, ratios, counts, ...facts].filter((part) => part !== '').join('\n');
}

/** Lines of what does not hold, for the end of a run. */
export function broken(reported: readonly Reported[]): { ratios: string[]; checks: string[]; errors: string[] } {
  const outcomes = reported.flatMap(({ bench, result }) => (result instanceof Error ? [] : [{ name: bench.name, ...result }]));
  return {
    ratios: outcomes.flatMap(({ name, findings }) =>
      findings.filter(isBroken).map((found) => `${name}: ${found.what} ${spread(found.ratio)}, budget ${budgetText(found.budget, ' ×')}`),
    ),
    checks: outcomes.flatMap(({ name, checks }) =>
      checks.filter((gate) => !holds(gate.value, gate.budget)).map((gate) => `${name}: ${gateText(gate)}`),
    ),
    errors: reported.flatMap(({ bench, result }) => (result instanceof Error ? [`${bench.name}: ${result.message}`] : [])),
  };
}

function isBroken(found: Finding): boolean {
  return found.budget !== null && !holds(found.ratio.median, found.budget);
}

function verdict(found: Finding): string {
  if (found.budget === null) return '';
  return isBroken(found) ? '**over**' : 'held';
}

function gateText(gate: Check): string {
  return `${gate.what} ${digits(gate.value)}, budget ${budgetText(gate.budget, '')}`;
}

function budgetText(budget: Budget | null, unit: string): string {
  if (budget === null) return '–';
  return `${budget.kind === 'most' ? '≤' : '≥'} ${budget.value}${unit}`;
}

function spread({ median, min, max }: Spread): string {
  return `${digits(median)} (${digits(min)}–${digits(max)})`;
}

function amount(value: number, unit: string): string {
  return `${digits(value)} ${unit}`;
}

function digits(value: number): string {
  if (Number.isInteger(value)) return String(value);
  if (value >= 100) return value.toFixed(0);
  return value
    .toPrecision(3)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return '';
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n') + '\n';
}
