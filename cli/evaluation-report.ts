/** Numbers of one evaluator. */
interface ShownNumbers {
  readonly n: number;
  readonly mean: number | null;
  readonly pass_rate: number | null;
  readonly ci: readonly [number, number] | null;
  readonly errors: number;
  readonly skipped: number;
}

/** An evaluation, as far as a report shows it. */
export interface ShownEvaluation {
  readonly id: string;
  readonly status: string;
  readonly finished_at: string | null;
  readonly dataset_name: string | null;
  readonly results?: readonly ShownResult[];
  readonly summary: {
    readonly failure: { readonly code: string; readonly message: string } | null;
    readonly items: number;
    readonly results: number;
    readonly completed: number;
    readonly errors: number;
    readonly skipped: number;
    readonly pass_rate: number | null;
    readonly pass_ci: readonly [number, number] | null;
    readonly cost: { readonly total: string };
    readonly evaluators: Readonly<Record<string, ShownNumbers>>;
    readonly results_truncated: boolean;
    readonly results_attachment_id: string | null;
    readonly baseline: {
      readonly evaluation_run_id: string;
      readonly paired_n: number;
      readonly unpaired: number;
      readonly delta: number | null;
      readonly ci: readonly [number, number] | null;
      readonly wins: number;
      readonly losses: number;
      readonly p_value: number;
      readonly conclusion: string;
    } | null;
  };
}

/** A result, as far as a report shows it. */
export interface ShownResult {
  readonly item_id: string;
  readonly repetition: number;
  readonly run_id: string | null;
  readonly status: string;
  readonly score: number | null;
  readonly reason: string | null;
  readonly output: string | null;
  readonly latency_ms: number | null;
  readonly scores: readonly {
    readonly key: string;
    readonly score: number | null;
    readonly passed: boolean | null;
    readonly reason: string | null;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

interface Shown {
  readonly results: readonly ShownResult[];
  readonly baseline: readonly ShownResult[];
  readonly url: string;
}

const maxListed = 20;

/** The report for people: a table of the evaluators, the comparison with its wins and losses, and what failed. */
export function reportOf({ summary }: ShownEvaluation, { results, baseline, url }: Shown): string {
  const rows = Object.entries(summary.evaluators).map(([key, { n, mean, pass_rate: rate, ci, errors, skipped }]) => [
    key,
    String(n),
    number(mean),
    percent(rate),
    ci === null ? '-' : `${number(ci[0])} to ${number(ci[1])}`,
    String(errors),
    String(skipped),
  ]);
  const table = tableOf([['evaluator', 'n', 'mean', 'passed', '95 % of mean', 'errors', 'skipped'], ...rows]);
  const passed = `Passed: ${percent(summary.pass_rate)}${summary.pass_ci === null ? '' : ` (95 %: ${percent(summary.pass_ci[0])} to ${percent(summary.pass_ci[1])})`} of ${summary.items} items`;
  const aside = `${summary.errors} results in error, ${summary.skipped} skipped, cost ${summary.cost.total}`;
  return [
    table,
    '',
    `${passed}; ${aside}.`,
    ...comparisonOf(summary.baseline, { results, baseline, url }),
    ...failuresOf(results, url),
  ].join('\n');
}

function comparisonOf(compared: ShownEvaluation['summary']['baseline'], { results, baseline, url }: Shown): string[] {
  if (compared === null) return [];
  const { paired_n: pairs, unpaired, delta, ci, wins, losses, p_value: p, conclusion } = compared;
  const range = ci === null ? '' : ` (95 %: ${signed(ci[0])} to ${signed(ci[1])})`;
  const before = passedItems(baseline);
  const after = passedItems(results);
  const changed = [...after].filter(([id, { isPassed }]) => before.has(id) && before.get(id)?.isPassed !== isPassed);
  const lines = changed
    .slice(0, maxListed)
    .map(([id, { isPassed, runId }]) => `  ${isPassed ? 'won ' : 'lost'}  ${id}  ${linkOf(url, runId)}`);
  return [
    '',
    `Against ${compared.evaluation_run_id}: ${signed(delta)}${range} over ${pairs} pairs (${unpaired} unpaired), ${wins} won, ${losses} lost, p ${p}: ${conclusion.replaceAll('_', ' ')}.`,
    ...lines,
    ...(changed.length > maxListed ? [`  and ${changed.length - maxListed} more`] : []),
  ];
}

/** For each item: whether more than half of its repetitions passed, and the run of the first one. */
function passedItems(results: readonly ShownResult[]): Map<string, { readonly isPassed: boolean; readonly runId: string | null }> {
  const judged = results.filter(({ status }) => status === 'passed' || status === 'failed');
  return new Map(
    [...Map.groupBy(judged, ({ item_id: id }) => id)].map(([id, all]) => [
      id,
      { isPassed: all.filter(({ status }) => status === 'passed').length * 2 > all.length, runId: all[0]?.run_id ?? null },
    ]),
  );
}

function failuresOf(results: readonly ShownResult[], url: string): string[] {
  const bad = results.filter(({ status }) => status === 'failed' || status === 'error');
  if (bad.length === 0) return [];
  const lines = bad
    .slice(0, maxListed)
    .map((result) => `  ${result.status}  ${result.item_id}  ${whyOf(result)}  ${linkOf(url, result.run_id)}`);
  return ['', 'Failed or in error:', ...lines, ...(bad.length > maxListed ? [`  and ${bad.length - maxListed} more`] : [])];
}

function whyOf({ scores, reason }: ShownResult): string {
  const bad = scores.filter(({ passed, error }) => passed === false || error !== null);
  const told = bad.map(
    ({ key, score, reason: why, error }) =>
      `${key}${score === null ? '' : ` ${number(score)}`}: ${error?.message ?? why ?? 'below its threshold'}`,
  );
  return (told.join('; ') || (reason ?? '')).replaceAll(/\s+/g, ' ').slice(0, 200);
}

/** JUnit XML with one test case per result, for display in CI systems. */
export function junitOf({ id, dataset_name: name }: ShownEvaluation, results: readonly ShownResult[]): string {
  const count = (status: string): number => results.filter((result) => result.status === status).length;
  const cases = results.map((result) => {
    const seconds = ((result.latency_ms ?? 0) / 1_000).toFixed(3);
    const head = `<testcase classname="${xml(name ?? 'evaluation')}" name="${xml(`${result.item_id} #${result.repetition}`)}" time="${seconds}"`;
    const why = xml(whyOf(result));
    if (result.status === 'passed') return `${head}/>`;
    if (result.status === 'failed') return `${head}><failure message="${why}">${xml(result.output ?? '')}</failure></testcase>`;
    if (result.status === 'error') return `${head}><error message="${why}"/></testcase>`;
    return `${head}><skipped message="${why}"/></testcase>`;
  });
  const numbers = `tests="${results.length}" failures="${count('failed')}" errors="${count('error')}" skipped="${results.length - count('passed') - count('failed') - count('error')}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name="${xml(`evaluation ${id}`)}" ${numbers}>\n${cases.join('\n')}\n</testsuite>\n</testsuites>\n`;
}

/** XML 1.0 does not allow most control characters. */
function xml(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the ones that XML can not hold
  const clean = text.toWellFormed().replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD');
  return clean.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll('\n', '&#10;');
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function linkOf(url: string, runId: string | null): string {
  return runId === null ? '' : `${url}/runs/${runId}`;
}

function number(value: number | null): string {
  return value === null ? '-' : value.toFixed(3);
}

function percent(value: number | null): string {
  return value === null ? '-' : `${(100 * value).toFixed(1)} %`;
}

function signed(value: number | null): string {
  return value === null ? '-' : `${value > 0 ? '+' : ''}${(100 * value).toFixed(1)} %`;
}
