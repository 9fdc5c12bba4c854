import type { ReviewFacts } from '../../db/code-review/pulls/facts.ts';
import { readCommand } from './pipeline/commands.ts';

/** A delivery of the Git host, as far as code review needs it. */
export interface HostEvent {
  readonly event: string;
  readonly action: string;
  readonly installationId: number;
  /** Null: it is about the whole installation. */
  readonly repoId: number | null;
  /** Null: it is about no pull request, or about whichever has the head of the facts. */
  readonly pullNumber: number | null;
  readonly facts: ReviewFacts;
}

type Node = Readonly<Record<string, unknown>>;

/** Reads an event beyond its installation and repository; null: the event is irrelevant. */
type Reader = (body: Node, action: string) => { readonly pullNumber: number | null; readonly facts: ReviewFacts } | null;

const actions: Readonly<Record<string, { readonly names: readonly string[]; readonly read: Reader }>> = {
  pull_request: {
    names: [
      'opened',
      'reopened',
      'ready_for_review',
      'converted_to_draft',
      'review_requested',
      'synchronize',
      'edited',
      'labeled',
      'closed',
    ],
    read: readPullRequest,
  },
  issue_comment: { names: ['created', 'edited', 'deleted'], read: (body, action) => readComment(body, action, 'issue') },
  pull_request_review_comment: { names: ['created', 'edited', 'deleted'], read: (body, action) => readComment(body, action, 'review') },
  pull_request_review_thread: { names: ['resolved', 'unresolved'], read: readThread },
  pull_request_review: { names: ['dismissed'], read: readReview },
  check_run: { names: ['rerequested', 'requested_action'], read: (body) => readCheck(nodeAt(body, 'check_run'), body) },
  check_suite: { names: ['rerequested'], read: (body) => readCheck(nodeAt(body, 'check_suite'), body) },
  installation: { names: ['deleted', 'suspend', 'unsuspend'], read: () => ({ pullNumber: null, facts: {} }) },
  installation_repositories: { names: ['added', 'removed'], read: readRepositories },
  repository: { names: ['renamed', 'transferred', 'deleted'], read: readRepository },
};

/** Events of an installation or repository, which concern no pull request. */
const ofBindings: ReadonlySet<string> = new Set(['installation', 'installation_repositories', 'repository']);

/**
 * Reads a delivery: `name` is the header X-GitHub-Event, `body` the parsed payload (https://docs.github.com/en/webhooks/webhook-events-and-payloads). Returns
 * null for a ping, an event or action from which nothing follows, or a payload that is not the host's.
 */
export function readEvent(name: string | undefined, body: unknown): HostEvent | null {
  const known = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (name === undefined || known === undefined || !isNode(body)) return null;
  const action = textAt(body, 'action', 60) ?? '';
  const installationId = idAt(nodeAt(body, 'installation'), 'id');
  if (installationId === null || !known.names.includes(action)) return null;
  const repoId = idAt(nodeAt(body, 'repository'), 'id');
  const isWide = name === 'installation' || name === 'installation_repositories';
  if (repoId === null && !isWide) return null;

  const read = known.read(body, action);
  if (read === null) return null;
  const sender = nodeAt(body, 'sender');
  const facts = { ...read.facts, sender: textAt(sender, 'login', 100) ?? '', is_bot: textAt(sender, 'type', 20) === 'Bot' };
  return { event: name, action, installationId, repoId: isWide ? null : repoId, pullNumber: read.pullNumber, facts };
}

/** Whether an event is about bindings, not about a pull request. */
export function isOfBinding(event: string): boolean {
  return ofBindings.has(event);
}

function readPullRequest(body: Node): ReturnType<Reader> {
  const pull = nodeAt(body, 'pull_request');
  const pullNumber = idAt(pull, 'number');
  if (pullNumber === null) return null;
  const { is_draft, is_fork, ...rest } = factsOfPull(pull, idAt(nodeAt(body, 'repository'), 'id'));
  const requested = nodeAt(body, 'requested_reviewer');
  const facts: ReviewFacts = {
    ...rest,
    is_draft: is_draft ?? false,
    is_fork: is_fork ?? false,
    is_base_changed: isNode(nodeAt(body, 'changes')['base']),
    is_app_requested: textAt(requested, 'type', 20) === 'Bot',
  };
  return { pullNumber, facts };
}

function factsOfPull(pull: Node, repoId: number | null): ReviewFacts {
  const head = nodeAt(pull, 'head');
  const headRepoId = idAt(nodeAt(head, 'repo'), 'id');
  return {
    ...shaOf(head),
    ...named('updated_at', timeText(pull['updated_at'])),
    is_open: pull['state'] !== 'closed',
    ...named('base_ref', textAt(nodeAt(pull, 'base'), 'ref', 400)),
    ...named('head_ref', textAt(head, 'ref', 400)),
    is_draft: pull['draft'] === true,
    // The head repository is another one, or no longer exists.
    is_fork: headRepoId === null || headRepoId !== repoId,
  };
}

function readComment(body: Node, action: string, kind: 'issue' | 'review'): ReturnType<Reader> {
  const issue = nodeAt(body, 'issue');
  // A comment on an issue that is no pull request is irrelevant.
  if (kind === 'issue' && !isNode(issue['pull_request'])) return null;
  const pull = kind === 'issue' ? issue : nodeAt(body, 'pull_request');
  const comment = nodeAt(body, 'comment');
  const [pullNumber, id] = [idAt(pull, 'number'), idAt(comment, 'id')];
  if (pullNumber === null || id === null) return null;
  const command = action === 'deleted' ? null : readCommand(textAt(comment, 'body', 262_144) ?? '');
  if (command === null && action === 'created') return null;
  const { name, argument, textSha256 } = command ?? {};
  const facts: ReviewFacts = {
    ...(kind === 'review' ? shaOf(nodeAt(pull, 'head')) : {}),
    comment: {
      id,
      kind,
      in_reply_to: idAt(comment, 'in_reply_to_id'),
      command:
        name === undefined || textSha256 === undefined
          ? null
          : { name, argument: argument === '' ? null : (argument ?? null), text_sha256: textSha256 },
    },
  };
  return { pullNumber, facts };
}

function readThread(body: Node): ReturnType<Reader> {
  const pullNumber = idAt(nodeAt(body, 'pull_request'), 'number');
  const thread = nodeAt(body, 'thread');
  const comments = Array.isArray(thread['comments']) ? thread['comments'] : [];
  const comment_ids = comments.flatMap((one) => (isNode(one) ? (idAt(one, 'id') ?? []) : [])).slice(0, maxComments);
  return pullNumber === null ? null : { pullNumber, facts: { comment_ids, ...named('thread_node_id', textAt(thread, 'node_id', 200)) } };
}

function readReview(body: Node): ReturnType<Reader> {
  const pullNumber = idAt(nodeAt(body, 'pull_request'), 'number');
  const review_id = idAt(nodeAt(body, 'review'), 'id');
  return pullNumber === null || review_id === null ? null : { pullNumber, facts: { review_id } };
}

/** A check names its pull requests, except those of forks: these are found by their head. */
function readCheck(check: Node, body: Node): ReturnType<Reader> {
  const [first] = Array.isArray(check['pull_requests']) ? check['pull_requests'] : [];
  const facts: ReviewFacts = {
    ...named('head_sha', shaText(check['head_sha'])),
    ...named('check_external_id', textAt(check, 'external_id', 100)),
    ...named('check_action', textAt(nodeAt(body, 'requested_action'), 'identifier', 40)),
  };
  return facts.head_sha === undefined ? null : { pullNumber: isNode(first) ? idAt(first, 'number') : null, facts };
}

function readRepositories(body: Node, action: string): ReturnType<Reader> {
  const listed = body[action === 'removed' ? 'repositories_removed' : 'repositories_added'];
  const ids = (Array.isArray(listed) ? listed : []).flatMap((one) => (isNode(one) ? (idAt(one, 'id') ?? []) : []));
  return ids.length === 0 ? null : { pullNumber: null, facts: { repo_ids: ids.slice(0, maxRepositories) } };
}

function readRepository(body: Node): ReturnType<Reader> {
  return { pullNumber: null, facts: named('repo_full_name', textAt(nodeAt(body, 'repository'), 'full_name', 300)) };
}

const maxComments = 100;
const maxRepositories = 1_000;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function nodeAt(node: Node, key: string): Node {
  const value = node[key];
  return isNode(value) ? value : {};
}

function textAt(node: Node, key: string, max: number): string | null {
  const value = node[key];
  return typeof value === 'string' ? value.slice(0, max).replaceAll('\u0000', '').toWellFormed() : null;
}

function idAt(node: Node, key: string): number | null {
  const value = node[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

function shaText(value: unknown): string | null {
  return typeof value === 'string' && /^[0-9a-f]{40,64}$/.test(value) ? value : null;
}

function timeText(value: unknown): string | null {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/.test(value) ? value : null;
}

function shaOf(head: Node): ReviewFacts {
  return named('head_sha', shaText(head['sha']));
}

function named<K extends keyof ReviewFacts>(key: K, value: ReviewFacts[K] | null): ReviewFacts {
  return value === null ? {} : { [key]: value };
}
