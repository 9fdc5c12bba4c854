import { join } from 'node:path';
import { deliver, payloadOf } from './hooks.ts';
import type { GitHubHost } from './index.ts';
import { hunksOf, mergeBaseOf } from './patches.ts';
import { commitTo, gitIn, initRepository, type CommitOptions, type FakeFile } from './repositories.ts';
import { createApp, personOf, type FakeApp, type FakeInstallation, type FakePull, type FakeRepository } from './state.ts';

/** Permissions that an installation of the App has when its owner has granted all that it asks for. */
const granted = { contents: 'write', pull_requests: 'write', issues: 'write', checks: 'write', metadata: 'read' };

/** A repository with an App that is installed in it. */
export interface Scene {
  readonly app: FakeApp;
  readonly installation: FakeInstallation;
  readonly repository: FakeRepository;
  readonly fullName: string;
}

/** Makes an App (unless one is given), its installation, and a repository with one commit on `main`. */
export function createScene(
  host: GitHubHost,
  {
    owner = 'octo',
    name = 'hello',
    app = createApp(host.state, 'reviewer'),
    files = { 'README.md': '# Hello\n' },
  }: Partial<SceneOptions> = {},
): Scene {
  const { state } = host;
  const repository = addRepository(host, { owner, name });
  const installation: FakeInstallation = {
    id: state.nextId(),
    appId: app.id,
    account: owner,
    repositoryIds: new Set([repository.id]),
    permissions: { ...granted },
    suspendedAt: null,
  };
  state.installations.push(installation);
  commitTo(repository.folder, { branch: 'main', files });
  return { app, installation, repository, fullName: `${owner}/${name}` };
}

interface SceneOptions {
  readonly owner: string;
  readonly name: string;
  readonly app: FakeApp;
  readonly files: Readonly<Record<string, FakeFile>>;
}

export function addRepository(
  { state, folder }: GitHubHost,
  { owner, name, isPrivate = true }: { owner: string; name: string; isPrivate?: boolean },
): FakeRepository {
  const id = state.nextId();
  const repository: FakeRepository = {
    id,
    owner,
    name,
    isPrivate,
    folder: join(folder, String(id)),
    collaborators: new Map([['ada', 'write']]),
    pulls: new Map(),
    checks: [],
  };
  initRepository(repository.folder);
  state.repositories.push(repository);
  return repository;
}

export interface PullOptions extends Partial<Pick<FakePull, 'title' | 'body' | 'isDraft' | 'baseRef' | 'labels' | 'maintainerCanModify'>> {
  /** Of the head; made from `main` by `files` if it is not there. */
  readonly branch: string;
  readonly files?: CommitOptions['files'];
  /** Of the fork; the repository itself unless given. */
  readonly from?: FakeRepository;
  readonly author?: string;
}

/** Opens a pull request as its author would. */
export function openPull(repository: FakeRepository, options: PullOptions): FakePull {
  const { branch, files, from = repository, author = 'ada', title = 'A change', body = null, baseRef = 'main' } = options;
  const headSha = files === undefined ? gitIn(from.folder, 'rev-parse', branch) : commitTo(from.folder, { branch, files, from: ['main'] });
  const number = Math.max(0, ...repository.pulls.keys()) + 1;
  const pull: FakePull = {
    number,
    title,
    body,
    author: personOf(author),
    state: 'open',
    isDraft: options.isDraft ?? false,
    isMerged: false,
    labels: options.labels ?? [],
    maintainerCanModify: options.maintainerCanModify ?? false,
    headRepository: from,
    headLabel: `${from.owner}:${branch}`,
    headRef: branch,
    headSha,
    baseRef,
    reviews: [],
    comments: [],
    issueComments: [],
  };
  repository.pulls.set(number, pull);
  showHead(repository, pull);
  return pull;
}

/** Pushes a commit to the head of a pull request, or moves it to a sha (a force push); the threads whose lines have left the diff become outdated. */
export function pushTo(
  repository: FakeRepository,
  pull: FakePull,
  change: Omit<CommitOptions, 'branch'> | { readonly sha: string },
): string {
  const folder = (pull.headRepository ?? repository).folder;
  if ('sha' in change) gitIn(folder, 'update-ref', `refs/heads/${pull.headRef}`, change.sha);
  else commitTo(folder, { ...change, branch: pull.headRef });
  pull.headSha = gitIn(folder, 'rev-parse', `refs/heads/${pull.headRef}`);
  showHead(repository, pull);
  return pull.headSha;
}

/** Brings `refs/pull/N/head` of the base repository up to the head, as the host does after each push. */
export function showHead(repository: FakeRepository, pull: FakePull): void {
  if (pull.headRepository !== null && pull.headRepository !== repository)
    gitIn(
      repository.folder,
      'fetch',
      '--quiet',
      '--force',
      pull.headRepository.folder,
      `refs/heads/${pull.headRef}:refs/pull/${pull.number}/head`,
    );
  else gitIn(repository.folder, 'update-ref', `refs/pull/${pull.number}/head`, pull.headSha);
  const from = mergeBaseOf(repository, pull);
  for (const comment of pull.comments.filter(({ line }) => line !== null)) {
    const lines = hunksOf(repository, from, pull.headSha, comment.path).flatMap((hunk) => [
      ...(comment.side === 'LEFT' ? hunk.left : hunk.right),
    ]);
    comment.thread.isOutdated = comment.line !== null && !lines.includes(comment.line);
  }
}

/** A fork of a repository, under another owner. */
export function forkOf(host: GitHubHost, repository: FakeRepository, owner: string): FakeRepository {
  const fork = addRepository(host, { owner, name: repository.name, isPrivate: false });
  gitIn(fork.folder, 'fetch', '--quiet', repository.folder, '+refs/heads/*:refs/heads/*');
  return fork;
}

/** Sends an event of the pull request to the App's hook, as the host does. */
export function sendPullEvent(
  host: GitHubHost,
  { app, installation, repository }: Scene,
  sent: { readonly pull: FakePull; readonly action: string; readonly more?: object; readonly sender?: string },
) {
  const { pull, action, more = {}, sender = 'ada' } = sent;
  const payload = payloadOf('pull_request', action, { installation, repository, pull, sender, more });
  return deliver(host.state, app, { event: 'pull_request', payload });
}
