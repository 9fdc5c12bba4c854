import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { pino } from 'pino';
import type { ActivityDeps } from '../../activities/deps.ts';
import { asTenant } from '../../activities/support/tenant.ts';
import { keepAnswer } from '../../domain/code-review/run-work.ts';
import { recordReviewHead } from '../../domain/code-review/run-work.ts';
import { rows } from '../../db/sql.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { commentsOf } from '../../domain/code-review/pipeline/comment-text.ts';
import type { PlacedFinding } from '../../domain/code-review/pipeline/finding.ts';
import { planAnswer, type PlannedReview } from '../../domain/code-review/pipeline/plan.ts';
import { annotationsOf } from '../../domain/code-review/pipeline/verdict.ts';
import { createGitHub } from '../../ports/github/client.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { startGitHubHost, type GitHubHost } from '../fakes/github/index.ts';
import { createScene, openPull, type Scene } from '../fakes/github/scene.ts';
import type { FakePull } from '../fakes/github/state.ts';
import type { TestTenant } from '../support/tenant.ts';

/** A bound repository whose runs are posted in the test's own process: no worker, no model. */
export interface PostingWorld {
  readonly world: World;
  readonly host: GitHubHost;
  /** Runs an activity of a tenant; `signal` cancels it. */
  act<R>(tenant: TestTenant, work: (deps: ActivityDeps) => Promise<R>): Promise<R>;
  sql<T>(text: string, params?: readonly unknown[]): Promise<T[]>;
  open(files: Readonly<Record<string, string>>, config?: Readonly<Record<string, unknown>>): Promise<PostingScene>;
  close(): Promise<void>;
}

export interface PostingScene {
  readonly scene: Scene;
  readonly pull: FakePull;
  readonly tenant: TestTenant;
  readonly bindingId: string;
  /** A run of a review with what it is to post; `findings` are new ones. */
  plan(plan: PlanOptions): Promise<string>;
}

export interface PlanOptions {
  readonly findings?: readonly PlacedFinding[];
  readonly summary?: string;
  readonly event?: 'COMMENT' | 'REQUEST_CHANGES';
  readonly conclusion?: Partial<PlannedReview['conclusion']>;
  readonly headSha?: string;
}

export async function openPosting(): Promise<PostingWorld> {
  const host = await startGitHubHost();
  const world = await openWorld({ env: host.env });
  const { egress } = world.api.deps;
  const github = createGitHub({ egress, apiUrl: host.env['GITHUB_API_URL']!, bucket: null });
  // Posting uses no more of a worker's dependencies.
  const deps = {
    db: world.api.db,
    keys: world.api.keys,
    github,
    dispatch: async () => undefined,
    log: pino({ level: 'silent' }),
    env: { github: { app: null, hook: null } },
  } as unknown as ActivityDeps;

  const act = <R>(tenant: TestTenant, work: (of: ActivityDeps) => Promise<R>): Promise<R> => {
    // What activities ask of their context here.
    const context = { cancellationSignal: AbortSignal.timeout(120_000), info: { attempt: 1 } } as unknown as Context;
    const { organizationId, workspaceId } = tenant;
    return asyncLocalStorage.run(context, () =>
      asTenant({ organizationId, workspaceId, correlationId: crypto.randomUUID() }, () => work(deps)),
    );
  };
  let scenes = 0;

  return {
    world,
    host,
    act,
    sql: (text, params = []) => sweep(world.api.db, (em) => rows(em, text, params)),
    async open(files, config = {}) {
      scenes += 1;
      const tenant = await world.tenant();
      const scene = createScene(host, { owner: 'octo', name: `posted-${scenes}`, files: { 'README.md': '# Hello\n' } });
      const pull = openPull(scene.repository, { branch: 'topic', files });
      const bindingId = await bind(world, tenant, { scene, config });
      return { scene, pull, tenant, bindingId, plan: (plan) => planRun(world, { tenant, pull, bindingId }, plan) };
    },
    async close() {
      await world.close();
      host.close();
    },
  };
}

async function bind(world: World, { tokens }: TestTenant, { scene, config }: { scene: Scene; config: object }): Promise<string> {
  const agent = await makeAgent(world, tokens.admin);
  for (const [name, value] of [
    ['github_app_id', String(scene.app.id)],
    ['github_app_private_key', scene.app.privateKey],
  ])
    await world.call(tokens.admin, 'PUT', `/secrets/${name}`, { body: { value } });
  const made = await world.call(tokens.admin, 'POST', '/repo-bindings', {
    body: { installation_id: scene.installation.id, repo_full_name: scene.fullName, reviewer_agent_id: agent.id, ...config },
  });
  if (made.status !== 201) throw new Error(`POST /repo-bindings: ${made.status} ${JSON.stringify(made.body)}`);
  return made.body.id;
}

interface Planned {
  readonly tenant: TestTenant;
  readonly pull: FakePull;
  readonly bindingId: string;
}

async function planRun(world: World, { tenant, pull, bindingId }: Planned, options: PlanOptions): Promise<string> {
  const body = { review: { binding_id: bindingId, pull_number: pull.number } };
  const made = await world.call(tenant.tokens.admin, 'POST', '/runs', { body });
  if (made.status !== 202) throw new Error(`POST /runs: ${made.status} ${JSON.stringify(made.body)}`);
  const runId: string = made.body.id;
  const { findings = [], summary = 'All read.', event = 'COMMENT', headSha = pull.headSha } = options;
  const plan: PlannedReview = {
    kind: 'review',
    headSha,
    baseSha: null,
    mergeBaseSha: null,
    baseRef: 'main',
    conclusion: { ...emptyConclusion, findings, summary, ...options.conclusion },
    comments: commentsOf(findings, bindingId),
    summary,
    event,
    check: { conclusion: findings.length > 0 ? 'neutral' : 'success', title: 'Reviewed', summary, annotations: annotationsOf(findings) },
  };
  const at = workspaceTenant(tenant.organizationId, tenant.workspaceId);
  await transact(world.api.db, { tenant: at, actor: systemActor, correlationId: crypto.randomUUID() }, async (tx) => {
    await recordReviewHead(tx, runId, headSha);
    await keepAnswer(tx, runId, { ...planAnswer, answer: plan });
  });
  return runId;
}

const emptyConclusion: PlannedReview['conclusion'] = {
  mode: 'full',
  skipReason: null,
  verdict: 'findings',
  counts: { raw: 0, gated: 0, refuted: 0, inline: 0, file: 0, folded: 0, carried: 0, fixed: 0, dismissed: 0 },
  findings: [],
  back: [],
  carried: [],
  fixed: [],
  outdated: [],
  files: { changed: 1, reviewed: 1, unread: [] },
  summary: '',
  check: 'neutral',
  isBlocking: false,
  hashes: {},
};

/** A finding on a line of the new side; `line` null: on the file. */
export function findingAt(path: string, line: number | null, more: Partial<PlacedFinding> = {}): PlacedFinding {
  const text = `${path}:${line}:${more.title ?? ''}`;
  return {
    fingerprint: Buffer.from(text).toString('hex').padEnd(64, '0').slice(-64),
    category: 'bug',
    ruleId: null,
    severity: 'high',
    confidence: 0.9,
    path,
    anchor: line === null ? null : { path, side: 'RIGHT', startLine: line, line },
    saidLine: line ?? 1,
    side: 'RIGHT',
    title: 'It is wrong',
    scenario: 'Whoever calls it gets a wrong result.',
    evidence: 'x',
    suggestion: null,
    alsoAt: [],
    placement: line === null ? 'file' : 'inline',
    ...more,
  };
}
