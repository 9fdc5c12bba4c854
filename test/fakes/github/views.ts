import { sampleOf } from './description.ts';
import {
  personOf,
  type Author,
  type FakeApp,
  type FakeCheck,
  type FakeComment,
  type FakeInstallation,
  type FakeIssueComment,
  type FakePull,
  type FakeReaction,
  type FakeRepository,
  type FakeReview,
} from './state.ts';

type Json = Record<string, any>;

/** What the host shows of its things: the least that its description allows, with what the fake knows. */
export function userView({ login, type, id }: Author): Json {
  return { ...sampleOf('simple-user'), login, type, id, node_id: `U_${id}`, site_admin: false };
}

export function appView(app: FakeApp): Json {
  const owner = userView(personOf('app-owner'));
  return { ...sampleOf('integration'), id: app.id, slug: app.slug, name: app.slug, owner, permissions: {}, events: [] };
}

export function installationView(installation: FakeInstallation, app: FakeApp): Json {
  const account = userView(personOf(installation.account));
  const { id, permissions, suspendedAt } = installation;
  const shown = { account, permissions, app_id: app.id, app_slug: app.slug, suspended_at: suspendedAt, suspended_by: null };
  return { ...sampleOf('installation'), id, ...shown, repository_selection: 'selected', single_file_name: null, events: [] };
}

export function repositoryView(repository: FakeRepository, schema: 'repository' | 'full-repository' = 'repository'): Json {
  const owner = userView(personOf(repository.owner));
  const { id, name, isPrivate } = repository;
  const shown = { name, full_name: `${repository.owner}/${name}`, owner, private: isPrivate, default_branch: 'main', fork: false };
  return { ...sampleOf(schema), id, ...shown };
}

export function pullView(repository: FakeRepository, pull: FakePull, more: Json = {}): Json {
  const side = (label: string, ref: string, sha: string, of: FakeRepository | null) => ({
    label,
    ref,
    sha,
    user: of && userView(personOf(of.owner)),
    repo: of && repositoryView(of),
  });
  return {
    ...sampleOf('pull-request'),
    id: pull.number + 50_000,
    number: pull.number,
    state: pull.state,
    title: pull.title,
    body: pull.body,
    draft: pull.isDraft,
    merged: pull.isMerged,
    merged_at: pull.isMerged ? '2026-01-01T00:00:00Z' : null,
    user: userView(pull.author),
    labels: pull.labels.map((name, at) => ({
      id: at + 1,
      node_id: 'L',
      url: 'https://github.test/',
      name,
      description: null,
      color: 'ffffff',
      default: false,
    })),
    head: side(pull.headLabel, pull.headRef, pull.headSha, pull.headRepository),
    base: { ...side(`${repository.owner}:${pull.baseRef}`, pull.baseRef, '0'.repeat(40), repository), ...more['base'] },
    maintainer_can_modify: pull.maintainerCanModify,
    author_association: 'NONE',
    changed_files: more['changed_files'] ?? 0,
  };
}

export function reviewView(pull: FakePull, review: FakeReview): Json {
  return {
    ...sampleOf('pull-request-review'),
    id: review.id,
    node_id: `PRR_${review.id}`,
    user: userView(review.author),
    body: review.body,
    state: review.state,
    commit_id: review.commitId,
    submitted_at: review.submittedAt,
    pull_request_url: `https://github.test/pulls/${pull.number}`,
  };
}

const rollup = (reactions: readonly FakeReaction[]) => {
  const count = (content: string) => reactions.filter((each) => each.content === content).length;
  const names = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'];
  return { url: 'https://github.test/', total_count: reactions.length, ...Object.fromEntries(names.map((name) => [name, count(name)])) };
};

export function commentView(
  comment: FakeComment,
  schema: 'pull-request-review-comment' | 'review-comment' = 'pull-request-review-comment',
): Json {
  const isOutdated = comment.thread.isOutdated;
  return {
    ...sampleOf(schema),
    id: comment.id,
    node_id: `PRRC_${comment.id}`,
    pull_request_review_id: comment.reviewId,
    ...(comment.inReplyTo === null ? {} : { in_reply_to_id: comment.inReplyTo }),
    path: comment.path,
    ...(comment.line === null ? {} : { line: isOutdated ? null : comment.line, original_line: comment.line }),
    side: comment.side,
    start_line: comment.startLine,
    subject_type: comment.subjectType,
    commit_id: comment.commitId,
    body: comment.body,
    user: userView(comment.author),
    reactions: rollup(comment.reactions),
  };
}

export function issueCommentView(comment: FakeIssueComment, app: FakeApp | null = null): Json {
  const shown = { body: comment.body, user: userView(comment.author), reactions: rollup(comment.reactions) };
  const performedBy = app === null ? {} : { performed_via_github_app: appView(app) };
  return { ...sampleOf('issue-comment'), id: comment.id, node_id: `IC_${comment.id}`, ...shown, ...performedBy };
}

export function reactionView({ id, author, content }: FakeReaction): Json {
  return { ...sampleOf('reaction'), id, user: userView(author), content };
}

export function checkView(check: FakeCheck): Json {
  const { title, summary, annotations } = check;
  const output = { title, summary, text: null, annotations_count: annotations.length, annotations_url: 'https://github.test/' };
  const { id, headSha, name, externalId, status, conclusion } = check;
  const shown = { name, head_sha: headSha, external_id: externalId, status, conclusion, output, app: appView(check.app) };
  return { ...sampleOf('check-run'), id, ...shown, pull_requests: [], check_suite: null };
}
