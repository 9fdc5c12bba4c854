import { resultToolSlug } from '../../db/agents/result-tool.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { ScriptStep } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startOwnStack, type ProcessName, type Stack, type StackOptions } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

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
  ended(id: string): Promise<any>;
  /** The lines of the attachment with all results. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies of our own API
  exported(attachmentId: string): Promise<any[]>;
  /** Calls of judges since the last reset. */
  judgeCalls(): number;
  stop(): Promise<void>;
}

/** What a judge answers in the form that is asked for. */
export const judgement = (value: unknown): ScriptStep => ({ tool_calls: [{ name: resultToolSlug, arguments: value }] });

const isJudged = (text: string) => text.includes('<<<rubric ');

export async function openEvaluations(
  processes: readonly ProcessName[] = ['api', 'worker-runs', 'worker-bulk'],
  options: Pick<StackOptions, 'egressPorts'> = {},
): Promise<EvaluationWorld> {
  const models = await startModelServer();
  const env = { LONGHAUL_MODEL_BASE_URL: models.baseUrl, LONGHAUL_MODEL: 'm' };
  const stack = await startOwnStack({ ...options, processes: [...processes], env }).catch(async (error: unknown) => {
    await models.close();
    throw error;
  });
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
    async ended(id) {
      let last = await world.read(id);
      await until(async () => {
        last = await world.read(id);
        return last.finished_at !== null;
      });
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
    judgeCalls: () => models.calls().filter(({ body }) => isJudged(JSON.stringify(body))).length,
    async stop() {
      await stack.stop();
      await models.close();
    },
  };
  models.script('m', {
    steps: [],
    choose: (text) => (isJudged(text) && world.judges !== null ? world.judges(text) : world.answers(text)),
  });
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
