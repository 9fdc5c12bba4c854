import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resultToolSlug } from '../../db/agents/effective/result-tool.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { ScriptStep } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startOwnStack, type ProcessName, type Stack, type StackOptions } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

/** Sums of ledger rows: of the judges of an evaluation, and of its runs. Decimals. */
export interface Ledger {
  readonly judgeRows: number;
  /** Rows of calls whose answer nobody came back with. */
  readonly judgeEstimates: number;
  readonly judges: string;
  readonly runs: string;
  /** What its cap has spent; null: it has none. */
  readonly cap: string | null;
}

const ledgerSql = `
  select count(*) filter (where u.run_id is null)::int as "judgeRows", count(*) filter (where u.run_id is null and u.estimated)::int as "judgeEstimates",
         trim_scale(coalesce(sum(u.cost) filter (where u.run_id is null), 0))::text as judges,
         trim_scale(coalesce(sum(u.cost) filter (where u.run_id is not null), 0))::text as runs,
         (select trim_scale(w.spent)::text from budget_windows w where w.cap_key = 'eval:' || ?::uuid) as cap
    from (select ?::uuid as id) e
    left join usage_entries u on (u.source_kind = 'evaluation' and u.source_id = e.id) or u.run_id in (select r.id from runs r where r.evaluation_run_id = e.id)`;

/** A deployment that evaluates, with one scripted model for agents and judges. */
export interface EvaluationWorld {
  readonly stack: Stack;
  readonly models: ModelServer;
  /** How the model answers agents: `say X` gives X, unless a test has set another. */
  answers: (text: string) => ScriptStep;
  /** How it answers judges; null: as agents are answered. */
  judges: ((prompt: string) => ScriptStep) | null;
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** Creates an evaluation of an agent and gives its id. */
  create(agentId: string, body: Readonly<Record<string, unknown>>): Promise<string>;
  /** Reads one. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies of our own API
  read(id: string): Promise<any>;
  /** Reads one when it has its end. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies of our own API
  ended(id: string, maxMs?: number): Promise<any>;
  /** The lines of the attachment with all results. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies of our own API
  exported(attachmentId: string): Promise<any[]>;
  /** Calls of judges about a text since the start. */
  judgeCalls(about?: string): number;
  /** Calls of agents and judges about a text. */
  callsAbout(about: string): number;
  /** What the ledger has of an evaluation and its runs. */
  ledger(id: string): Promise<Ledger>;
  stop(): Promise<void>;
}

/** What a judge answers in the form that is asked for. */
export const judgement = (value: unknown): ScriptStep => ({ tool_calls: [{ name: resultToolSlug, arguments: value }] });

/** Settings of a deployment that has further models, as `fake/NAME`, and gives them up after so many seconds of silence. */
export function fakeModels(
  folder: string,
  names: readonly [string, ...string[]],
  silentS = 30,
): (modelBaseUrl: string) => Record<string, string> {
  return (baseUrl) => {
    const capabilities = { tools: true, parallel_tools: true, json: 'tool', reasoning: false, image: false, pdf: false, audio: false };
    const defaults = { context_window: 100_000, capabilities, first_token_s: silentS, idle_s: silentS };
    const provider = { id: 'fake', adapter: 'openai_compatible', base_url: baseUrl, default_model: names[0], model_defaults: defaults };
    const file = join(folder, 'registry.json');
    writeFileSync(file, JSON.stringify({ providers: [provider], models: names.map((name) => ({ provider: 'fake', name })) }));
    return { LONGHAUL_MODEL_REGISTRY: file };
  };
}

const isJudged = (text: string) => text.includes('<<<rubric ');

export async function openEvaluations(
  processes: readonly ProcessName[] = ['api', 'worker-runs', 'worker-bulk'],
  {
    envOf = () => ({}),
    ...options
  }: Pick<StackOptions, 'egressPorts'> & {
    /** Further settings, by where the scripted model is. */
    readonly envOf?: (modelBaseUrl: string) => Record<string, string>;
  } = {},
): Promise<EvaluationWorld> {
  const models = await startModelServer();
  const env = { LONGHAUL_MODEL_BASE_URL: models.baseUrl, LONGHAUL_MODEL: 'm', ...envOf(models.baseUrl) };
  const stack = await startOwnStack({ ...options, processes: [...processes], env }).catch(async (error: unknown) => {
    await models.close();
    throw error;
  });
  const callsAbout = (about: string) =>
    models
      .calls()
      .map(({ body }) => JSON.stringify(body))
      .filter((body) => body.includes(about));
  const world: EvaluationWorld = {
    stack,
    models,
    answers: said,
    judges: null,
    sql: (text, params = []) => sweep(stack.db, (em) => rows(em, text, params)),
    async create(agentId, body) {
      const made = await stack.request('POST', '/evaluations', { body: { agent_id: agentId, ...body } });
      if (made.status !== 201) throw new Error(`POST /evaluations answered ${made.status}: ${JSON.stringify(made.body)}`);
      return (made.body as { id: string }).id;
    },
    read: async (id) => (await stack.request('GET', `/evaluations/${id}`)).body,
    async ended(id, maxMs) {
      let last = await world.read(id);
      await until(async () => {
        last = await world.read(id);
        return last.finished_at !== null;
      }, maxMs);
      return last;
    },
    async exported(attachmentId) {
      const headers = { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` };
      const text = await (await fetch(`${stack.url()}/attachments/${attachmentId}`, { headers })).text();
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    },
    judgeCalls: (about = '') => callsAbout(about).filter((body) => isJudged(body)).length,
    callsAbout: (about) => callsAbout(about).length,
    async ledger(id) {
      const [found] = await world.sql<Ledger>(ledgerSql, [id, id]);
      if (!found) throw new Error('the ledger gave nothing');
      return found;
    },
    async stop() {
      await stack.stop();
      await models.close();
    },
  };
  const choose = (text: string) => (isJudged(text) && world.judges !== null ? world.judges(text) : world.answers(text));
  models.script('m', { steps: [], choose });
  return world;
}

/** An agent that says what it is told to. */
export async function makeEchoAgent({ stack }: EvaluationWorld, document: Record<string, unknown> = {}): Promise<string> {
  return (await makeAgent(stack, [], { instructions: 'Say what you are told to.', ...document })).id;
}

/** `say X` gives X. */
export function said(text: string): ScriptStep {
  return { text: /say (.*)/s.exec(text)?.[1] ?? '' };
}

/** Items whose answers are right for the first `right` of `count`. */
export function items(count: number, right = count) {
  return Array.from({ length: count }, (_, at) => ({ id: `i${at + 1}`, input: `say ${at < right ? 'yes' : 'no'}`, expected: 'yes' }));
}

export const exact = { key: 'exact', type: 'exact_match' };
