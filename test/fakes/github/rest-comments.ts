import { filesOf } from './patches.ts';
import { pageOf } from './pages.ts';
import { invalid, notFound } from './refusal.ts';
import { anchorOf, checkBody, newComment } from './rest-pulls.ts';
import type { RepositoryContext, RepositoryRoute } from './rest.ts';
import { botOf, type FakeReaction } from './state.ts';
import { commentView, issueCommentView, reactionView } from './views.ts';

const writes = [
  ['pull_requests', 'write'],
  ['issues', 'write'],
] as const;

export const commentRoutes: Readonly<Record<string, RepositoryRoute>> = {
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/comments': {
    needs: [['pull_requests', 'read']],
    handle: ({ pull, query }) => ({ data: pageOf(pull().comments, query).map((comment) => commentView(comment)) }),
  },
  'POST /repos/{owner}/{repo}/pulls/{pull_number}/comments': { needs: [['pull_requests', 'write']], handle: createComment },
  'POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies': {
    needs: [['pull_requests', 'write']],
    handle: ({ state, app, pull, params, body }) => {
      const root = pull().comments.find(({ id }) => id === Number(params['comment_id']));
      if (!root) throw notFound();
      if (root.inReplyTo !== null) throw invalid('Validation Failed', [{ field: 'in_reply_to', code: 'invalid' }]);
      checkBody(body['body']);
      const reply = {
        ...root,
        id: state.nextId(),
        inReplyTo: root.id,
        body: body['body'],
        author: botOf(app),
        reactions: [],
        reviewId: state.nextId(),
      };
      pull().comments.push(reply);
      return { status: 201, data: commentView(reply) };
    },
  },
  'GET /repos/{owner}/{repo}/issues/{issue_number}/comments': {
    needs: [
      ['issues', 'read'],
      ['pull_requests', 'read'],
    ],
    handle: ({ pull, query }) => ({ data: pageOf(pull().issueComments, query).map((comment) => issueCommentView(comment)) }),
  },
  'POST /repos/{owner}/{repo}/issues/{issue_number}/comments': {
    needs: writes,
    handle: ({ state, app, pull, body }) => {
      checkBody(body['body']);
      const comment = { id: state.nextId(), body: body['body'], author: botOf(app), reactions: [] };
      pull().issueComments.push(comment);
      return { status: 201, data: issueCommentView(comment, app) };
    },
  },
  'POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions': {
    needs: writes,
    handle: (ctx) =>
      react(
        ctx,
        [...ctx.repository.pulls.values()].flatMap(({ issueComments }) => issueComments),
      ),
  },
  'POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions': {
    needs: [['pull_requests', 'write']],
    handle: (ctx) =>
      react(
        ctx,
        [...ctx.repository.pulls.values()].flatMap(({ comments }) => comments),
      ),
  },
};

/** A comment beside any review: on a line, or on a whole file. The host makes a review of its own for it. */
function createComment({ state, app, repository, pull: find, body }: RepositoryContext) {
  const pull = find();
  if (body['commit_id'] !== pull.headSha) throw invalid('Validation Failed', [{ field: 'commit_id', code: 'invalid' }]);
  const isFile = body['subject_type'] === 'file';
  if (isFile) {
    checkBody(body['body']);
    if (!filesOf(repository, pull).some(({ filename }) => filename === body['path']))
      throw invalid('Validation Failed', [{ field: 'path', code: 'invalid' }]);
  }
  const anchor = isFile ? null : anchorOf(repository, pull, body);
  const author = botOf(app);
  const review = {
    id: state.nextId(),
    body: '',
    state: 'COMMENTED' as const,
    author,
    commitId: pull.headSha,
    submittedAt: state.now().toISOString(),
  };
  pull.reviews.push(review);
  const comment = newComment({ state, review, author, commitId: pull.headSha }, body, anchor);
  pull.comments.push(comment);
  return { status: 201, data: commentView(comment) };
}

/** The same reaction of the same App is there once: 200 in place of 201. */
function react({ state, app, params, body }: RepositoryContext, comments: readonly { id: number; reactions: FakeReaction[] }[]) {
  const comment = comments.find(({ id }) => id === Number(params['comment_id']));
  if (!comment) throw notFound();
  const author = botOf(app);
  const found = comment.reactions.find((each) => each.author.login === author.login && each.content === body['content']);
  if (found) return { status: 200, data: reactionView(found) };
  const made: FakeReaction = { id: state.nextId(), author, content: body['content'] };
  comment.reactions.push(made);
  return { status: 201, data: reactionView(made) };
}
