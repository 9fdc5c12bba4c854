import Type, { type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { RepositoryClient } from './client.ts';
import { HostError } from './host-error.ts';

/** A thread of comments on code; REST does not offer them. */
export interface HostThread {
  readonly id: string;
  /** REST id of the comment that begins it. */
  readonly commentId: number;
  /** GraphQL id of that comment. */
  readonly commentNodeId: string;
  readonly isResolved: boolean;
  /** Login of whoever resolved it; for an App without `[bot]`. */
  readonly resolvedBy: string | null;
  readonly isMinimized: boolean;
}

const listDocument = `query($owner: String!, $repo: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved resolvedBy { login } comments(first: 1) { nodes { id fullDatabaseId isMinimized } } }
      }
    }
  }
}`;

const Comment = Type.Object({ id: Type.String(), fullDatabaseId: Type.Union([Type.String(), Type.Null()]), isMinimized: Type.Boolean() });
const Thread = Type.Object({
  id: Type.String(),
  isResolved: Type.Boolean(),
  resolvedBy: Type.Union([Type.Object({ login: Type.String() }), Type.Null()]),
  comments: Type.Object({ nodes: Type.Array(Comment) }),
});
const Threads = Type.Object({
  repository: Type.Object({
    pullRequest: Type.Object({
      reviewThreads: Type.Object({
        pageInfo: Type.Object({ hasNextPage: Type.Boolean(), endCursor: Type.Union([Type.String(), Type.Null()]) }),
        nodes: Type.Array(Thread),
      }),
    }),
  }),
});

const maxPages = 30;

/** Returns all threads of a pull request. Throws HostError. */
export async function listThreads(client: RepositoryClient, pullNumber: number, signal: AbortSignal): Promise<HostThread[]> {
  const [owner = '', repo = ''] = client.fullName.split('/');
  const threads: HostThread[] = [];
  let after: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const variables = { owner, repo, number: pullNumber, after };
    const answer = await client.graphql({ document: listDocument, variables, isMutation: false }, signal);
    if (!Value.Check(Threads, answer)) throw new HostError('POST /graphql: threads of another form', { kind: 'unexpected' });
    const { nodes, pageInfo } = answer.repository.pullRequest.reviewThreads;
    threads.push(...nodes.flatMap(threadOf));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  return threads;
}

function threadOf({ id, isResolved, resolvedBy, comments }: Static<typeof Thread>): HostThread[] {
  const [first] = comments.nodes;
  if (first === undefined || first.fullDatabaseId === null) return [];
  const comment = { commentId: Number(first.fullDatabaseId), commentNodeId: first.id, isMinimized: first.isMinimized };
  return [{ id, isResolved, resolvedBy: resolvedBy?.login ?? null, ...comment }];
}

/** Resolves a thread; a resolved one stays resolved. Throws HostError. */
export async function resolveThread(client: RepositoryClient, threadId: string, signal: AbortSignal): Promise<void> {
  await mutate(client, 'mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id } } }', threadId, signal);
}

/** Reopens a resolved thread. Throws HostError. */
export async function reopenThread(client: RepositoryClient, threadId: string, signal: AbortSignal): Promise<void> {
  await mutate(client, 'mutation($id: ID!) { unresolveReviewThread(input: { threadId: $id }) { thread { id } } }', threadId, signal);
}

/** Minimizes a comment as outdated. Throws HostError. */
export async function minimizeComment(client: RepositoryClient, commentNodeId: string, signal: AbortSignal): Promise<void> {
  const document =
    'mutation($id: ID!) { minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized } } }';
  await mutate(client, document, commentNodeId, signal);
}

async function mutate(client: RepositoryClient, document: string, id: string, signal: AbortSignal): Promise<void> {
  await client.graphql({ document, variables: { id }, isMutation: true }, signal);
}
