import { sampleOf } from './description.ts';
import { anchorFault, filesOf, hunksOf, mergeBaseOf, type Anchor } from './patches.ts';
import { pageOf } from './pages.ts';
import { invalid, notFound, Refusal } from './refusal.ts';
import { bytesIn, gitIn, gitPasses } from './repositories.ts';
import type { RepositoryContext, RepositoryRoute } from './rest.ts';
import { botOf, type FakeComment, type FakePull, type FakeReview } from './state.ts';
import { commentView, pullView, repositoryView, reviewView } from './views.ts';

type Json = Record<string, any>;

/** The longest text that the host takes. */
export const maxBody = 65_536;
const maxFiles = 3_000;
const reads = [['pull_requests', 'read']] as const;
const writes = [['pull_requests', 'write']] as const;

export const pullRoutes: Readonly<Record<string, RepositoryRoute>> = {
  'GET /repos/{owner}/{repo}': {
    needs: [['metadata', 'read']],
    handle: ({ repository }) => ({ data: repositoryView(repository, 'full-repository') }),
  },
  'GET /repos/{owner}/{repo}/collaborators/{username}/permission': {
    needs: [['metadata', 'read']],
    handle: ({ repository, params }) => {
      const permission = repository.collaborators.get(params['username'] ?? '') ?? (repository.isPrivate ? 'none' : 'read');
      return { data: { permission, role_name: permission, user: null } };
    },
  },
  'GET /repos/{owner}/{repo}/contents/{path}': { needs: [['contents', 'read']], handle: readContents },
  'GET /repos/{owner}/{repo}/compare/{basehead}': { needs: [['contents', 'read']], handle: compare },
  'GET /repos/{owner}/{repo}/pulls': {
    needs: reads,
    handle: (ctx) => {
      const head = ctx.query.get('head');
      const state = ctx.query.get('state') ?? 'open';
      const all = [...ctx.repository.pulls.values()].filter(
        (pull) => (state === 'all' || pull.state === state) && (head === null || pull.headLabel === head),
      );
      return { data: pageOf(all, ctx.query).map((pull) => viewOf(ctx, pull)) };
    },
  },
  'POST /repos/{owner}/{repo}/pulls': { needs: writes, handle: openPull },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}': { needs: reads, handle: (ctx) => ({ data: viewOf(ctx, ctx.pull()) }) },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/files': {
    needs: reads,
    handle: ({ repository, pull, query }) => {
      const files = filesOf(repository, pull()).slice(0, maxFiles);
      const url = 'https://github.test/';
      return { data: pageOf(files, query).map((file) => ({ ...file, blob_url: url, raw_url: url, contents_url: url })) };
    },
  },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews': {
    needs: reads,
    handle: ({ pull, query }) => ({ data: pageOf(pull().reviews, query).map((review) => reviewView(pull(), review)) }),
  },
  'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews': { needs: writes, handle: createReview },
  'PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}': {
    needs: writes,
    handle: ({ app, pull, params, body }) => {
      const review = reviewOf(pull(), params);
      if (review.author.login !== botOf(app).login) throw new Refusal(403, 'Resource not accessible by integration');
      checkBody(body['body']);
      review.body = body['body'];
      return { data: reviewView(pull(), review) };
    },
  },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments': {
    needs: reads,
    handle: ({ pull, params, query }) => {
      const { id } = reviewOf(pull(), params);
      const comments = pull().comments.filter(({ reviewId }) => reviewId === id);
      return { data: pageOf(comments, query).map((comment) => commentView(comment, 'review-comment')) };
    },
  },
};

function viewOf({ repository }: RepositoryContext, pull: FakePull): Json {
  const sha = gitPasses(repository.folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${pull.baseRef}`)
    ? gitIn(repository.folder, 'rev-parse', `refs/heads/${pull.baseRef}`)
    : '0'.repeat(40);
  return pullView(repository, pull, { base: { sha } });
}

function readContents({ repository, params, query }: RepositoryContext) {
  const ref = query.get('ref') ?? 'main';
  const path = params['path'] ?? '';
  if (!gitPasses(repository.folder, 'cat-file', '-e', `${ref}:${path}`)) throw notFound();
  const bytes = bytesIn(repository.folder, 'cat-file', 'blob', `${ref}:${path}`);
  const url = 'https://github.test/';
  // The host gives no content of files above 1 MB here.
  const isGiven = bytes.length <= 1_024 * 1_024;
  const file = {
    type: 'file',
    encoding: isGiven ? 'base64' : 'none',
    size: bytes.length,
    name: path.split('/').at(-1),
    path,
    content: isGiven ? bytes.toString('base64').replace(/.{60}/g, '$&\n') : '',
  };
  const links = { git: url, html: url, self: url };
  return { data: { ...file, sha: '0'.repeat(40), url, git_url: url, html_url: url, download_url: url, _links: links } };
}

function compare({ repository, params }: RepositoryContext) {
  const [base = '', head = ''] = (params['basehead'] ?? '').split('...');
  const isThere = [base, head].every((name) => gitPasses(repository.folder, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`));
  if (!isThere) throw notFound();
  const shaOf = (name: string) => gitIn(repository.folder, 'rev-parse', `${name}^{commit}`);
  const commitView = (sha: string) => ({ ...sampleOf('commit'), sha });
  const data = {
    ...sampleOf('commit-comparison'),
    base_commit: commitView(shaOf(base)),
    merge_base_commit: commitView(gitIn(repository.folder, 'merge-base', base, head)),
    commits: [],
    files: [],
  };
  return { data };
}

function openPull({ state, app, repository, body }: RepositoryContext) {
  const { head, base, title } = body as { head: string; base: string; title?: string };
  if (!gitPasses(repository.folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${head}`))
    throw invalid('Validation Failed', [{ resource: 'PullRequest', field: 'head', code: 'invalid' }]);
  const isTwice = [...repository.pulls.values()].some((each) => each.state === 'open' && each.headRef === head && each.baseRef === base);
  if (isTwice)
    throw invalid('Validation Failed', [
      { resource: 'PullRequest', code: 'custom', message: `A pull request already exists for ${repository.owner}:${head}.` },
    ]);
  const number = Math.max(0, ...repository.pulls.keys()) + 1;
  const headSha = gitIn(repository.folder, 'rev-parse', `refs/heads/${head}`);
  const pull: FakePull = {
    number,
    title: title ?? '',
    body: body['body'] ?? null,
    author: botOf(app),
    state: 'open',
    isDraft: false,
    isMerged: false,
    labels: [],
    maintainerCanModify: false,
    headRepository: repository,
    headLabel: `${repository.owner}:${head}`,
    headRef: head,
    headSha,
    baseRef: base,
    reviews: [],
    comments: [],
    issueComments: [],
  };
  void state;
  repository.pulls.set(number, pull);
  gitIn(repository.folder, 'update-ref', `refs/pull/${number}/head`, headSha);
  return { status: 201, data: pullView(repository, pull) };
}

function reviewOf(pull: FakePull, params: Readonly<Record<string, string>>): FakeReview {
  const found = pull.reviews.find(({ id }) => id === Number(params['review_id']));
  if (!found) throw notFound();
  return found;
}

export function checkBody(body: unknown): void {
  if (typeof body !== 'string' || body.trim() === '') throw invalid('Validation Failed', [{ field: 'body', code: 'missing_field' }]);
  if (body.length > maxBody)
    throw invalid('Validation Failed', [{ field: 'body', code: 'custom', message: `body is too long (maximum is ${maxBody} characters)` }]);
}

/** One bad anchor, and the host takes nothing of the review. */
function createReview({ state, app, repository, pull: find, body }: RepositoryContext) {
  const pull = find();
  const comments: Json[] = body['comments'] ?? [];
  if (body['event'] === undefined) throw invalid('the fake keeps no pending reviews');
  if (!body['body'] && body['event'] !== 'APPROVE') throw invalid('Validation Failed', [{ field: 'body', code: 'missing_field' }]);
  if (body['body']) checkBody(body['body']);
  const commitId: string = body['commit_id'] ?? pull.headSha;
  if (!gitPasses(repository.folder, 'merge-base', '--is-ancestor', commitId, pull.headSha))
    throw invalid('Validation Failed', [{ field: 'commit_id', code: 'invalid' }]);
  const anchors = comments.map((comment) => anchorOf(repository, pull, comment));
  const author = botOf(app);
  const review: FakeReview = {
    id: state.nextId(),
    body: body['body'] ?? '',
    state: body['event'] === 'REQUEST_CHANGES' ? 'CHANGES_REQUESTED' : 'COMMENTED',
    author,
    commitId,
    submittedAt: state.now().toISOString(),
  };
  pull.reviews.push(review);
  comments.forEach((comment, at) => pull.comments.push(newComment({ state, review, author, commitId }, comment, anchors[at]!)));
  return { data: reviewView(pull, review) };
}

function anchorOf(repository: RepositoryContext['repository'], pull: FakePull, comment: Json): Anchor {
  checkBody(comment['body']);
  const side = comment['side'] ?? 'RIGHT';
  const anchor = {
    path: comment['path'],
    line: comment['line'],
    side,
    startLine: comment['start_line'] ?? null,
    startSide: comment['start_side'] ?? null,
  };
  const fault = anchorFault(hunksOf(repository, mergeBaseOf(repository, pull), pull.headSha, anchor.path), anchor);
  if (fault !== null) throw invalid('Unprocessable Entity', [fault]);
  return anchor;
}

interface NewComment {
  readonly state: RepositoryContext['state'];
  readonly review: FakeReview;
  readonly author: FakeComment['author'];
  readonly commitId: string;
}

/** A comment with a thread of its own. */
export function newComment({ state, review, author, commitId }: NewComment, comment: Json, anchor: Anchor | null): FakeComment {
  const id = state.nextId();
  return {
    id,
    reviewId: review.id,
    inReplyTo: null,
    thread: { id: `PRRT_${id}`, isResolved: false, isOutdated: false, resolvedBy: null },
    path: comment['path'],
    side: anchor?.side ?? 'RIGHT',
    line: anchor?.line ?? null,
    startLine: anchor?.startLine ?? null,
    subjectType: anchor === null ? 'file' : 'line',
    commitId,
    body: comment['body'],
    author,
    reactions: [],
    minimized: null,
  };
}

export { anchorOf };
