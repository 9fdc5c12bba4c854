import { generateKeyPairSync, type KeyObject } from 'node:crypto';

export type Permission = 'read' | 'write' | 'admin';

export interface FakeApp {
  readonly id: number;
  readonly slug: string;
  /** PEM, PKCS#1: what the host gives. */
  readonly privateKey: string;
  readonly publicKey: KeyObject;
  /** Where its deliveries go. */
  hook: { readonly url: string; readonly secret: string } | null;
  readonly deliveries: FakeDelivery[];
}

export interface FakeDelivery {
  readonly id: number;
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly body: string;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
  readonly deliveredAt: Date;
  readonly isRedelivery: boolean;
  readonly statusCode: number;
}

export interface FakeInstallation {
  readonly id: number;
  readonly appId: number;
  readonly account: string;
  readonly repositoryIds: Set<number>;
  readonly permissions: Record<string, string>;
  suspendedAt: string | null;
}

export interface Author {
  readonly login: string;
  readonly type: 'User' | 'Bot';
  readonly id: number;
}

export interface FakeRepository {
  readonly id: number;
  owner: string;
  name: string;
  isPrivate: boolean;
  readonly folder: string;
  readonly collaborators: Map<string, Permission>;
  readonly pulls: Map<number, FakePull>;
  readonly checks: FakeCheck[];
}

export interface FakeReview {
  readonly id: number;
  body: string;
  state: 'COMMENTED' | 'CHANGES_REQUESTED' | 'APPROVED' | 'DISMISSED';
  readonly author: Author;
  readonly commitId: string;
  readonly submittedAt: string;
}

export interface FakeReaction {
  readonly id: number;
  readonly author: Author;
  readonly content: '+1' | '-1' | 'laugh' | 'confused' | 'heart' | 'hooray' | 'rocket' | 'eyes';
}

export interface FakeComment {
  readonly id: number;
  readonly reviewId: number | null;
  readonly inReplyTo: number | null;
  readonly thread: FakeThread;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly line: number | null;
  readonly startLine: number | null;
  readonly subjectType: 'line' | 'file';
  readonly commitId: string;
  body: string;
  readonly author: Author;
  readonly reactions: FakeReaction[];
  minimized: string | null;
}

export interface FakeThread {
  readonly id: string;
  isResolved: boolean;
  isOutdated: boolean;
  resolvedBy: string | null;
}

export interface FakeIssueComment {
  readonly id: number;
  body: string;
  readonly author: Author;
  readonly reactions: FakeReaction[];
}

export interface FakePull {
  readonly number: number;
  title: string;
  body: string | null;
  readonly author: Author;
  state: 'open' | 'closed';
  isDraft: boolean;
  isMerged: boolean;
  labels: string[];
  maintainerCanModify: boolean;
  /** Null: the repository of the head has been deleted. */
  headRepository: FakeRepository | null;
  readonly headLabel: string;
  readonly headRef: string;
  headSha: string;
  baseRef: string;
  readonly reviews: FakeReview[];
  readonly comments: FakeComment[];
  readonly issueComments: FakeIssueComment[];
}

export interface FakeCheck {
  readonly id: number;
  readonly app: FakeApp;
  readonly headSha: string;
  name: string;
  externalId: string;
  status: 'queued' | 'in_progress' | 'completed';
  conclusion: string | null;
  title: string | null;
  summary: string | null;
  readonly annotations: Record<string, unknown>[];
  actions: Record<string, unknown>[];
}

export interface FakeToken {
  readonly token: string;
  readonly installation: FakeInstallation;
  readonly repositoryIds: ReadonlySet<number>;
  readonly permissions: Readonly<Record<string, string>>;
  expiresAtMs: number;
}

/** Everything that the fake host holds, beside the repositories on disk. */
export interface HostState {
  readonly apps: FakeApp[];
  readonly installations: FakeInstallation[];
  readonly repositories: FakeRepository[];
  readonly tokens: Map<string, FakeToken>;
  /** How far the host's clock is ahead of ours. */
  clockShiftMs: number;
  /** Of new tokens. */
  tokenLifeMs: number;
  nextId(): number;
  now(): Date;
}

export function createState(): HostState {
  let serial = 1_000;
  const state: HostState = {
    apps: [],
    installations: [],
    repositories: [],
    tokens: new Map(),
    clockShiftMs: 0,
    tokenLifeMs: 3_600_000,
    nextId: () => (serial += 1),
    now: () => new Date(Date.now() + state.clockShiftMs),
  };
  return state;
}

export function createApp(state: HostState, slug: string): FakeApp {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const app: FakeApp = { id: state.nextId(), slug, privateKey: pem, publicKey, hook: null, deliveries: [] };
  state.apps.push(app);
  return app;
}

export function botOf(app: FakeApp): Author {
  return { login: `${app.slug}[bot]`, type: 'Bot', id: app.id + 100_000 };
}

export function personOf(login: string): Author {
  const id = [...login].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_000, 7);
  return { login, type: 'User', id };
}
