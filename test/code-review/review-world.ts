import { resultToolSlug } from '../../db/agents/effective/result-tool.ts';
import { rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { CodeReviewOutput } from '../../workflows/contracts/review/code-review.ts';
import { startGitHubHost, type GitHubHost } from '../fakes/github/index.ts';
import { createScene, type Scene } from '../fakes/github/scene.ts';
import type { ScriptStep } from '../fakes/model-script.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { makeAgent } from '../support/scenario.ts';
import { startOwnStack, type ProcessName, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

/** Stages of a review, as its prompts show them. */
export type AskedStage = 'summary' | 'pass' | 'verify' | 'same' | 'reply' | 'edit';

/** A deployment that reviews a host's pull requests with a scripted model. */
export interface ReviewWorld {
  readonly stack: Stack;
  readonly models: ModelServer;
  readonly host: GitHubHost;
  readonly scene: Scene;
  readonly bindingId: string;
  readonly agentId: string;
  /** How the model answers; unless a test says otherwise it finds nothing and refutes nothing. */
  answers: Partial<Record<AskedStage, (prompt: string) => ScriptStep>>;
  /** Stages that the model was asked for, in order. */
  readonly asked: AskedStage[];
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  /** Starts a review by hand and gives its run's id. */
  review(
    pullNumber: number,
    options?: { readonly full?: boolean; readonly post?: boolean; readonly instructions?: string },
  ): Promise<string>;
  /** The run when it has ended. */
  ended(runId: string): Promise<EndedRun>;
  stop(): Promise<void>;
}

export interface EndedRun {
  readonly status: string;
  readonly finish_reason: string | null;
  readonly error: { readonly code: string; readonly reason: string | null; readonly message: string } | null;
  readonly output: { readonly text: string | null; readonly json: CodeReviewOutput | null } | null;
  readonly usage: { readonly own: { readonly tokens: Readonly<Record<string, number>> } };
}

/** A finding as a scripted model gives it. */
export interface ScriptedFinding {
  readonly path: string;
  readonly line: number;
  readonly quote: string;
  readonly title?: string;
  readonly severity?: string;
  readonly category?: string;
  readonly confidence?: number;
}

const answer = (value: unknown): ScriptStep => ({ tool_calls: [{ name: resultToolSlug, arguments: value }] });

/** What a pass answers. */
export function found(...findings: readonly ScriptedFinding[]): ScriptStep {
  return answer({
    findings: findings.map(({ path, line, quote, title = 'It is wrong', severity = 'high', category = 'bug', confidence = 0.9 }) => ({
      path,
      start_line: line,
      end_line: line,
      side: 'RIGHT',
      category,
      rule_id: null,
      severity,
      confidence,
      title,
      scenario: `Whoever calls it gets a wrong result: ${title}.`,
      evidence_quote: quote,
      suggestion: null,
    })),
  });
}

/** What a second look answers. */
export function voted(stands: boolean, confidence = 0.9): ScriptStep {
  return answer({ reason: 'Because.', stands, confidence });
}

/** What the editing model answers: edits, or with `read` files that it wants to see. */
export function edited(
  edits: readonly { readonly path: string; readonly find: string; readonly replace: string }[],
  note = 'Repaired.',
  read: readonly string[] = [],
): ScriptStep {
  return answer({ read, edits, note });
}

/** What a summary and a reply answer. */
export function worded(text: string): ScriptStep {
  return answer({ text });
}

const defaults: Record<AskedStage, () => ScriptStep> = {
  summary: () => worded('It changes something.'),
  pass: () => found(),
  verify: () => voted(true),
  same: () => answer({ groups: [] }),
  reply: () => worded('Yes.'),
  edit: () => edited([], 'Nothing to repair.'),
};

/** The stage of a prompt of the platform's own playbook. */
export function stageOf(prompt: string): AskedStage | null {
  if (prompt.startsWith('You summarise')) return 'summary';
  if (prompt.startsWith('You review')) return 'pass';
  if (prompt.startsWith('Somebody reports')) return 'verify';
  if (prompt.startsWith('Reports of faults')) return 'same';
  if (prompt.startsWith('You repair')) return 'edit';
  return prompt.startsWith('You answer') ? 'reply' : null;
}

export interface ReviewWorldOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  /** More of the binding. */
  readonly binding?: Readonly<Record<string, unknown>>;
  readonly processes?: readonly ProcessName[];
  /** Changes the environment of the processes. */
  readonly adapt?: (env: Readonly<Record<string, string>>) => Record<string, string>;
}

export async function openReviews({
  files,
  config = {},
  binding = {},
  processes = ['api', 'worker-runs', 'worker-bulk'],
  adapt,
}: ReviewWorldOptions = {}): Promise<ReviewWorld> {
  const models = await startModelServer();
  const host = await startGitHubHost();
  const env = { ...host.env, LONGHAUL_MODEL_BASE_URL: models.baseUrl, LONGHAUL_MODEL: 'm' };
  const stack = await startOwnStack({ processes: [...processes], env, ...(adapt ? { adapt } : {}) }).catch(async (error: unknown) => {
    await models.close();
    host.close();
    throw error;
  });
  const scene = createScene(host, { ...(files ? { files } : {}) });
  const agent = await makeAgent(stack, [], { instructions: 'Review.' });
  const bindingId = await bind(stack, scene, {
    reviewer_agent_id: agent.id,
    editor_agent_id: agent.id,
    review_config: { debounce_seconds: 0, ...config },
    ...binding,
  });
  const asked: AskedStage[] = [];
  const world: ReviewWorld = {
    stack,
    models,
    host,
    scene,
    bindingId,
    agentId: agent.id,
    answers: {},
    asked,
    sql: (text, params = []) => sweep(stack.db, (em) => rows(em, text, params)),
    async review(pullNumber, options = {}) {
      const review = { binding_id: bindingId, pull_number: pullNumber, ...options };
      const made = await stack.request('POST', '/runs', { body: { review } });
      if (made.status !== 202) throw new Error(`POST /runs answered ${made.status}: ${JSON.stringify(made.body)}`);
      return (made.body as { id: string }).id;
    },
    async ended(runId) {
      let last: EndedRun & { finished_at: string | null };
      await until(async () => {
        last = (await stack.request('GET', `/runs/${runId}`)).body;
        return last.finished_at !== null;
      });
      return last!;
    },
    async stop() {
      await stack.stop();
      await models.close();
      host.close();
    },
  };
  models.script('m', {
    steps: [],
    choose(text) {
      const stage = stageOf(text);
      if (stage === null) return { text: 'Nothing to say.' };
      asked.push(stage);
      return (world.answers[stage] ?? defaults[stage])(text);
    },
  });
  return world;
}

async function bind(stack: Stack, { app, installation, fullName }: Scene, more: Readonly<Record<string, unknown>>): Promise<string> {
  for (const [name, value] of [
    ['github_app_id', String(app.id)],
    ['github_app_private_key', app.privateKey],
  ]) {
    const kept = await stack.request('PUT', `/secrets/${name}`, { body: { value } });
    if (kept.status >= 300) throw new Error(`PUT /secrets answered ${kept.status}: ${JSON.stringify(kept.body)}`);
  }
  const body = { installation_id: installation.id, repo_full_name: fullName, ...more };
  const made = await stack.request('POST', '/repo-bindings', { body });
  if (made.status !== 201) throw new Error(`POST /repo-bindings answered ${made.status}: ${JSON.stringify(made.body)}`);
  return (made.body as { id: string }).id;
}
