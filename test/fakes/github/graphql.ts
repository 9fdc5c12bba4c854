import { schema as published } from '@octokit/graphql-schema';
import { buildSchema, graphql, type GraphQLSchema } from 'graphql';
import { allows } from './auth.ts';
import { botOf, type FakeComment, type FakePull, type FakeRepository, type FakeToken, type HostState } from './state.ts';

type Json = Record<string, any>;

let schema: GraphQLSchema | null = null;

/** GitHub's own schema: what it does not have is refused, and an answer that it does not allow is an error. */
function schemaOf(): GraphQLSchema {
  // It is published with fields that stand twice in an enterprise's settings.
  schema ??= buildSchema(published.idl, { assumeValid: true, assumeValidSDL: true });
  return schema;
}

export interface GraphqlRequest {
  readonly token: FakeToken;
  readonly query: string;
  readonly variables: Json;
}

/** Runs a document as the host does: errors stand beside `data`, with their type. */
export async function answerGraphql(state: HostState, { token, query, variables }: GraphqlRequest): Promise<Json> {
  const result = await graphql({ schema: schemaOf(), source: query, variableValues: variables, rootValue: rootOf(state, token) });
  const errors = result.errors?.map((error) => ({
    message: error.message,
    type: error.originalError instanceof TypedError ? error.originalError.type : 'UNKNOWN',
    path: error.path,
  }));
  return errors === undefined ? { data: result.data } : { data: result.data ?? null, errors };
}

class TypedError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

function rootOf(state: HostState, token: FakeToken): Json {
  const visible = state.repositories.filter(({ id, isPrivate }) => token.repositoryIds.has(id) || !isPrivate);
  const threads = () =>
    visible.flatMap((repository) =>
      [...repository.pulls.values()].flatMap((pull) => pull.comments.filter(isRoot).map((root) => ({ repository, pull, root }))),
    );
  const mutated = (input: Json, change: (thread: FakeComment['thread'], root: FakeComment) => void) => {
    const found = threads().find(({ root }) => root.thread.id === input['threadId']);
    if (!found) throw new TypedError('NOT_FOUND', `Could not resolve to a node with the global id of '${input['threadId']}'.`);
    if (!token.repositoryIds.has(found.repository.id) || !allows(token.permissions['pull_requests'], 'write'))
      throw new TypedError('FORBIDDEN', 'Resource not accessible by integration');
    change(found.root.thread, found.root);
    return { clientMutationId: null, thread: threadView(found.pull, found.root) };
  };
  const bot = botOf(state.apps.find(({ id }) => id === token.installation.appId)!).login;
  return {
    repository: ({ owner, name }: Json) => {
      const found = visible.find(
        (each) => each.owner.toLowerCase() === owner.toLowerCase() && each.name.toLowerCase() === name.toLowerCase(),
      );
      if (!found) throw new TypedError('NOT_FOUND', `Could not resolve to a Repository with the name '${owner}/${name}'.`);
      return { pullRequest: ({ number }: Json) => pullView(found, number) };
    },
    resolveReviewThread: ({ input }: Json) => mutated(input, (thread) => Object.assign(thread, { isResolved: true, resolvedBy: bot })),
    unresolveReviewThread: ({ input }: Json) => mutated(input, (thread) => Object.assign(thread, { isResolved: false, resolvedBy: null })),
    minimizeComment: ({ input }: Json) => {
      const found = visible
        .flatMap(({ pulls }) => [...pulls.values()].flatMap(({ comments }) => comments))
        .find(({ id }) => `PRRC_${id}` === input['subjectId']);
      if (!found) throw new TypedError('NOT_FOUND', `Could not resolve to a node with the global id of '${input['subjectId']}'.`);
      found.minimized = input['classifier'];
      return {
        clientMutationId: null,
        minimizedComment: { __typename: 'PullRequestReviewComment', isMinimized: true, minimizedReason: found.minimized },
      };
    },
  };
}

function isRoot({ inReplyTo }: FakeComment): boolean {
  return inReplyTo === null;
}

function pullView(repository: FakeRepository, number: number): Json {
  const pull = repository.pulls.get(number);
  if (!pull) throw new TypedError('NOT_FOUND', `Could not resolve to a PullRequest with the number of ${number}.`);
  return {
    number,
    reviewThreads: (asked: Json) =>
      pageOf(
        pull.comments.filter(isRoot).map((root) => threadView(pull, root)),
        asked,
      ),
  };
}

function threadView(pull: FakePull, root: FakeComment): Json {
  const { id, isResolved, isOutdated, resolvedBy } = root.thread;
  const comments = pull.comments.filter(({ thread }) => thread === root.thread);
  return {
    id,
    isResolved,
    isOutdated,
    isCollapsed: isResolved,
    path: root.path,
    line: isOutdated ? null : root.line,
    resolvedBy: resolvedBy === null ? null : { login: resolvedBy },
    comments: (asked: Json) => pageOf(comments.map(commentView), asked),
  };
}

function commentView(comment: FakeComment): Json {
  const isBot = comment.author.type === 'Bot';
  // GraphQL has the login of an App without the `[bot]` of REST.
  const author = { __typename: isBot ? 'Bot' : 'User', login: comment.author.login.replace(/\[bot\]$/, '') };
  const { id, body, minimized } = comment;
  return {
    id: `PRRC_${id}`,
    databaseId: id,
    fullDatabaseId: String(id),
    body,
    author,
    isMinimized: minimized !== null,
    minimizedReason: minimized,
  };
}

/** A page of a connection; the host asks for `first` or `last`, 100 at most. */
function pageOf(nodes: readonly Json[], { first, last, after }: Json): Json {
  const size = first ?? last;
  if (size === undefined || size === null)
    throw new TypedError('MISSING_PAGINATION_BOUNDARIES', 'You must provide a `first` or `last` value to properly paginate.');
  if (size > 100) throw new TypedError('EXCESSIVE_PAGINATION', `Requesting ${size} records exceeds the \`first\` limit of 100 records.`);
  const start = after ? Number(Buffer.from(after, 'base64').toString()) : 0;
  const page = nodes.slice(start, start + size);
  const end = start + page.length;
  return {
    totalCount: nodes.length,
    nodes: page,
    pageInfo: {
      hasNextPage: end < nodes.length,
      endCursor: Buffer.from(String(end)).toString('base64'),
      hasPreviousPage: start > 0,
      startCursor: null,
    },
  };
}
