import { readFileSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAccess } from './access.ts';
import { stateDirOf, type CliEnv } from './env.ts';
import { junitOf, reportOf, type ShownEvaluation, type ShownResult } from './evaluation-report.ts';
import { SetupError } from './setup-error.ts';
import { readStateFile } from './state.ts';

/** The arguments of `evaluate`, as typed. */
interface AskedValues {
  readonly 'agent'?: string;
  readonly 'dataset'?: string;
  readonly 'evaluators'?: string;
  readonly 'revision'?: string;
  readonly 'baseline'?: string;
  readonly 'min-pass-rate'?: string;
  readonly 'repetitions'?: string;
  readonly 'junit'?: string;
}

interface Command {
  readonly env: CliEnv;
  readonly asked: AskedValues;
  readonly log: (text: string) => void;
  readonly logFault: (text: string) => void;
}

interface Api {
  readonly url: string;
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>>;
  text(path: string): Promise<string>;
}

const pollMs = 1_000;
const triesOfRead = 30;
/** Ctrl-C, and the signal that a cancelled pipeline sends. */
const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/**
 * `longhaul evaluate`: evaluates an agent over HTTP and prints the result. Returns the exit code: 0; 1 below the required pass rate or worse
 * than the baseline; 2 if it could not be judged. Ctrl-C and SIGTERM cancel the evaluation.
 */
export async function evaluate({ env, asked, log, logFault }: Command): Promise<0 | 1 | 2> {
  try {
    const minPassRate = rateOf(asked['min-pass-rate']);
    const api = apiOf(env);
    const made = await api.call('POST', '/evaluations', await bodyOf(api, asked));
    const id = String(made['id']);
    log(`Evaluation ${id}: ${api.url}/evaluations/${id}`);
    const done = await followed(api, id, log);
    const results = await resultsOf(api, done);
    const baseline = done.summary.baseline === null ? [] : await resultsOf(api, await read(api, done.summary.baseline.evaluation_run_id));
    log(reportOf(done, { results, baseline, url: api.url }));
    if (asked.junit !== undefined) writeFileSync(asked.junit, junitOf(done, results));
    return exitCodeOf(done, minPassRate, log);
  } catch (error) {
    if (!(error instanceof SetupError) && !(error instanceof Error && 'code' in error)) throw error;
    logFault(error.message);
    return 2;
  }
}

function exitCodeOf({ status, summary }: ShownEvaluation, minPassRate: number, log: Command['log']): 0 | 1 | 2 {
  if (status !== 'succeeded' || summary.pass_rate === null) {
    log(`Not judged: the evaluation is ${status}${summary.failure ? ` (${summary.failure.message})` : ''}.`);
    return 2;
  }
  if (summary.pass_rate < minPassRate) log(`Below the required pass rate: ${minPassRate}.`);
  if (summary.baseline?.conclusion === 'worse') log('Worse than the baseline.');
  return summary.pass_rate < minPassRate || summary.baseline?.conclusion === 'worse' ? 1 : 0;
}

function rateOf(given: string | undefined): number {
  const value = given === undefined || given.trim() === '' ? Number.NaN : Number(given);
  if (!(value >= 0 && value <= 1)) throw new SetupError('--min-pass-rate must be a number from 0 to 1.');
  return value;
}

/** The address and key of the API: from the environment, else from the state folder of this machine's deployment. */
function apiOf(env: CliEnv): Api {
  const access = env['LONGHAUL_URL'] && env['LONGHAUL_SERVICE_KEY'] ? null : readAccess(readStateFile(stateDirOf(env), 'access.json'));
  const url = (env['LONGHAUL_URL'] || access?.base_url || '').replace(/\/+$/, '');
  const key = env['LONGHAUL_SERVICE_KEY'] || access?.service_key;
  if (url === '' || !key) throw new SetupError('Set LONGHAUL_URL and LONGHAUL_SERVICE_KEY, or start a deployment here.');
  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) };
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }).catch(() => {
      throw new SetupError(`No API answers at ${url}.`);
    });
    const text = await answer.text();
    if (!answer.ok) throw new SetupError(`${method} ${path} answered ${answer.status}: ${detailOf(text)}`);
    return text;
  };
  return {
    url,
    call: async (method, path, body) => JSON.parse(await send(method, path, body)) as Record<string, unknown>, // objects, as the contract says
    text: (path) => send('GET', path),
  };
}

/** Returns the detail of an error with its violations. */
function detailOf(text: string): string {
  try {
    const { detail, errors = [] } = JSON.parse(text) as { detail?: string; errors?: { pointer?: string; message?: string }[] }; // the envelope
    return [detail ?? text, ...errors.slice(0, 50).map(({ pointer, message }) => `  ${pointer ?? ''} ${message ?? ''}`)].join('\n');
  } catch {
    return text.slice(0, 500);
  }
}

async function bodyOf(api: Api, asked: AskedValues): Promise<object> {
  const { agent, dataset, evaluators, revision, baseline, repetitions } = asked;
  if (agent === undefined || dataset === undefined || evaluators === undefined)
    throw new SetupError('--agent, --dataset and --evaluators are required.');
  return {
    agent_id: await agentIdOf(api, agent),
    ...(revision === undefined ? {} : { agent_revision_id: revision }),
    ...(baseline === undefined ? {} : { baseline_evaluation_run_id: baseline }),
    ...(repetitions === undefined ? {} : { repetitions: Number(repetitions) }),
    dataset_name: dataset.slice(-120),
    dataset: datasetOf(dataset),
    evaluators: jsonFile(evaluators),
  };
}

function datasetOf(file: string): object {
  const extension = extname(file).toLowerCase();
  if (extension === '.json') return { items: jsonFile(file) };
  if (extension !== '.csv' && extension !== '.jsonl') throw new SetupError(`${file}: a data set must be a .jsonl, .csv or .json file.`);
  return { format: extension.slice(1), text: readFileSync(file, 'utf8') };
}

function jsonFile(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new SetupError(`${file} is not valid JSON.`);
  }
}

async function agentIdOf(api: Api, slug: string): Promise<string> {
  const page = await api.call('GET', `/agents?limit=200&q=${encodeURIComponent(slug)}`);
  const agents = (Array.isArray(page['items']) ? page['items'] : []) as { id: string; slug: string }[]; // AgentSummary
  const found = agents.find((agent) => agent.slug === slug);
  if (!found) throw new SetupError(`There is no agent ${slug}.`);
  return found.id;
}

/** Polls the evaluation until it has ended; tolerates an API that is unavailable for up to half a minute. */
async function followed(api: Api, id: string, log: Command['log']): Promise<ShownEvaluation> {
  const cancel = () => {
    log('Cancelling.');
    api.call('POST', '/runs/cancel', { filter: { evaluation_run_id: id } }).catch((error: unknown) => log(String(error)));
  };
  for (const signal of stopSignals) process.once(signal, cancel);
  try {
    for (let told = ''; ;) {
      const evaluation = await read(api, id);
      const { completed, results, errors, pass_rate: passRate } = evaluation.summary;
      const line = `${evaluation.status}: ${completed} of ${results} results${errors > 0 ? `, ${errors} in error` : ''}${passRate === null ? '' : `, ${percent(passRate)} passed`}`;
      if (line !== told) log(line);
      told = line;
      if (evaluation.finished_at !== null) return evaluation;
      await sleep(pollMs);
    }
  } finally {
    for (const signal of stopSignals) process.off(signal, cancel);
  }
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

async function read(api: Api, id: string): Promise<ShownEvaluation> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await api.call('GET', `/evaluations/${id}`)) as unknown as ShownEvaluation; // EvaluationRunDetailView
    } catch (error) {
      if (attempt === triesOfRead || (error instanceof Error && / answered 4\d\d/.test(error.message))) throw error;
      await sleep(pollMs);
    }
  }
}

/** Returns all results if their file exists, else those of the view. */
async function resultsOf(api: Api, { summary, results }: ShownEvaluation): Promise<readonly ShownResult[]> {
  if (!summary.results_truncated || summary.results_attachment_id === null) return results ?? [];
  const lines = (await api.text(`/attachments/${summary.results_attachment_id}`)).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as ShownResult); // lines of the export
}
