import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { startModelServer, type ModelServer, type ScriptStep } from '../fakes/model-server.ts';
import { checkRun } from '../support/run-checks.ts';
import { created, startEffectServer, type EffectServer } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';

/** A deployment of real processes for runs that ask each other. */
export interface FamilyStack {
  readonly stack: Stack;
  readonly models: ModelServer;
  readonly effects: EffectServer;
  close(): Promise<void>;
}

export async function startFamilyStack(): Promise<FamilyStack> {
  const models = await startModelServer();
  const effects = await startEffectServer();
  try {
    const stack = await startStack({ processes: ['api', 'worker-runs'], modelBaseUrl: models.baseUrl, egressPorts: [effects.port] });
    return {
      stack,
      models,
      effects,
      async close() {
        await stack.stop();
        effects.close();
        await models.close();
      },
    };
  } catch (error) {
    effects.close();
    await models.close();
    throw error;
  }
}

export interface NamedAgent {
  readonly id: string;
  readonly slug: string;
  /** The name under which others ask it. */
  readonly ask: string;
}

/** An agent with an active revision. */
export async function makeNamed(stack: Stack, document: Record<string, unknown> = {}): Promise<NamedAgent> {
  const slug = `agent-${crypto.randomUUID().slice(0, 8)}`;
  const body = { slug, name: `Agent ${slug}`, revision: { instructions: 'Do what the script says.', ...document }, activate: true };
  const { id } = await created(stack, '/agents', body);
  return { id, slug, ask: `ask_${slug}` };
}

/** Registers what the model does with a task under a name of its own; gives the words that call for it. */
export function playing(models: ModelServer, steps: readonly ScriptStep[]): string {
  const name = `play-${crypto.randomUUID().slice(0, 8)}`;
  models.script(name, { steps });
  return `[script:${name}]`;
}

/** A step in which the model asks agents. */
export function asking(...calls: readonly (readonly [NamedAgent | string, unknown])[]): ScriptStep {
  return {
    tool_calls: calls.map(([asked, given]) => ({
      name: typeof asked === 'string' ? asked : asked.ask,
      arguments: typeof given === 'string' ? { task: given } : given,
    })),
  };
}

export interface FamilyRun {
  readonly id: string;
  readonly parent_run_id: string | null;
  readonly parent_tool_call_id: string | null;
  readonly agent_slug: string;
  readonly depth: number;
  readonly path: readonly string[];
  readonly lineage: readonly string[];
  readonly status: string;
  readonly finish_reason: string | null;
  readonly limits: Record<string, unknown>;
  readonly max_effect: string;
  readonly untrusted: boolean;
  readonly subject_id: string | null;
  readonly source: string;
}

/** All runs of a tree, oldest first. */
export function familyOf(stack: Stack, rootRunId: string): Promise<FamilyRun[]> {
  return sweep(stack.db, (em) => rows<FamilyRun>(em, 'select r.* from runs r where r.root_run_id = ? order by r.depth, r.id', [rootRunId]));
}

interface LedgerSum {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cost: string;
}

/** What is wrong with an ended tree: every run held against its promises, and the root's totals against the ledger. */
export async function familyFaults(stack: Stack, rootRunId: string): Promise<string[]> {
  const family = await familyOf(stack, rootRunId);
  const checked = [];
  for (const run of family) checked.push(await checkRun(stack, run.id));
  const root = checked.find(({ run }) => (run as unknown as { id: string }).id === rootRunId);
  const [sum] = await sweep(stack.db, (em) =>
    rows<LedgerSum>(
      em,
      `select count(*)::int as calls, coalesce(sum(input_tokens), 0)::int as input, coalesce(sum(output_tokens), 0)::int as output, coalesce(sum(cost), 0)::text as cost
         from usage_entries where run_id in (select id from runs where root_run_id = ?)`,
      [rootRunId],
    ),
  );
  const subtree = root?.run.usage.subtree;
  const isSum =
    sum && subtree && sum.calls === subtree.model_calls && sum.input === subtree.tokens.input && sum.output === subtree.tokens.output;
  return [
    ...checked.flatMap(({ faults }) => faults),
    ...(isSum ? [] : [`the ledger holds ${JSON.stringify(sum)}, the root's subtree ${JSON.stringify(subtree)}`]),
  ];
}
