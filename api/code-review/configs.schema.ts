import Type, { type Static } from 'typebox';
import { severities, type ReviewConfig } from '../../workflows/contracts/review/code-review.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { EditorConfig, ReviewBudgetConfig, ReviewWorkspaceConfig } from '../../workflows/contracts/review/pull-requests.ts';
import { Amount, closed, idOf, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';

const Pattern = text(400, { minLength: 1 });
const Globs = (maxItems: number, description: string) => listOf(Pattern, { maxItems, description });
const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const sides = (description: string) => ({
  include: listOf(Pattern, { maxItems: 50, description: `${description}; empty: all` }),
  exclude: listOf(Pattern, { maxItems: 50, description: `${description} to exclude` }),
});
const TextFilterView = (description: string) => closed(sides(description));
const TextFilterInput = (description: string) => closed(Type.Partial(closed(sides(description))).properties);

const PathGlobs = Globs(200, 'Globs of files; ! excludes, and a glob that includes excludes all other files');
const MaxFiles = nullable(
  integer({ minimum: 1, maximum: 3_000, description: 'Pull requests with more files are skipped; null: no limit' }),
);
const filters = {
  paths: PathGlobs,
  titles: TextFilterView('Regular expressions (RE2) for the title'),
  labels: TextFilterView('Labels'),
  authors: TextFilterView('Logins of authors'),
  branches: TextFilterView('Globs for the target branch'),
  max_files: MaxFiles,
};
const filterInput = {
  paths: PathGlobs,
  titles: TextFilterInput('Regular expressions (RE2) for the title'),
  labels: TextFilterInput('Labels'),
  authors: TextFilterInput('Logins of authors'),
  branches: TextFilterInput('Globs for the target branch'),
  max_files: MaxFiles,
};

const review = {
  playbook_id: nullable(idOf('Playbook', 'The playbook; null: the default of the workspace, then organization, then platform')),
  drafts: Type.Boolean({ description: 'Whether drafts are reviewed too' }),
  incremental: Type.Boolean({ description: 'Whether after a push only its changes are reviewed' }),
  verify: Type.Boolean({ description: 'Whether findings are verified by a second look' }),
  check_run: Type.Boolean({ description: 'Whether each head gets a check' }),
  max_findings: nullable(
    integer({
      maximum: 50,
      description: 'Maximum number of line comments, further findings go into the summary; null: as the playbook says',
    }),
  ),
  min_confidence: nullable(share('Findings below this confidence are dropped; null: as the playbook says')),
  min_severity: oneOf(severities, { description: 'Findings of lower severity are dropped' }),
  request_changes: Type.Boolean({
    description: 'Whether severe findings request changes; false: reviews only comment. Reviews never approve',
  }),
  summary: oneOf(['always', 'findings', 'never'], { description: 'When a summary is written' }),
  debounce_seconds: integer({ maximum: 300, description: 'How long a push waits for the next push' }),
  repo_instructions: Type.Boolean({ description: 'Whether .longhaul/review.md of the base branch is used' }),
};
export const ReviewConfigView = closed(
  { ...review, filters: closed(filters) },
  { $id: 'ReviewConfig', description: 'What is reviewed, and how' },
);
export const ReviewConfigInput = closed(
  Type.Partial(closed({ ...review, filters: closed(Type.Partial(closed(filterInput)).properties) })).properties,
  {
    $id: 'ReviewConfigInput',
    description: 'Omitted fields take their defaults',
  },
);

const editor = {
  mode: oneOf(['off', 'suggest', 'push', 'branch'], {
    description: 'How findings are repaired: by suggestions, on the head branch, or on a separate branch',
  }),
  branch_prefix: text(60, { minLength: 1, pattern: '^[A-Za-z0-9_][A-Za-z0-9._/-]*$', description: 'Prefix of separate branches' }),
  max_rounds: integer({ maximum: 10, description: 'Maximum number of pushes to a pull request' }),
  test_commands: listOf(text(500, { minLength: 1 }), {
    maxItems: 10,
    description: 'Commands that must pass before a push; they require a sandbox',
  }),
  allow_forks: Type.Boolean({ description: 'Whether heads of forks are pushed to, if their author allows edits by maintainers' }),
  protected_paths: Globs(100, 'Files that are never changed'),
};
export const EditorConfigView = closed(editor, { $id: 'EditorConfig', description: 'How findings are repaired' });
export const EditorConfigInput = closed(Type.Partial(closed(editor)).properties, {
  $id: 'EditorConfigInput',
  description: 'Omitted fields take their defaults',
});

const budget = {
  per_review: nullable({ ...Amount, description: 'For one review' }),
  per_pr: nullable({ ...Amount, description: 'For all reviews of a pull request' }),
  per_day: nullable({ ...Amount, description: 'For one day (UTC)' }),
  currency: text(3, { minLength: 3, pattern: '^[A-Z]{3}$', description: 'ISO 4217' }),
  on_exceed: oneOf(['skip', 'summary_only'], { description: 'What happens to a review that the budget cannot cover from its start' }),
};
export const ReviewBudgetView = closed(budget, { $id: 'ReviewBudgetConfig', description: 'What reviews can cost; null: no limit' });
export const ReviewBudgetInput = closed(Type.Partial(closed(budget)).properties, {
  $id: 'ReviewBudgetConfigInput',
  description: 'Omitted fields take their defaults',
});

const workspace = {
  clone: oneOf(['partial', 'shallow', 'full'], { description: 'How much of the repository is fetched' }),
  max_clone_mb: integer({ minimum: 10, maximum: 10_240, description: 'Larger repositories are read through the API of the Git host' }),
  sandbox_tool_id: nullable(idOf('Tool', 'The code tool in which the editor’s tests run')),
  env_secret_names: listOf(text(120, { minLength: 1, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), {
    maxItems: 20,
    description: 'Secrets that are available to tests',
  }),
};
export const ReviewWorkspaceView = closed(workspace, {
  $id: 'ReviewWorkspaceConfig',
  description: 'Where work on the repository takes place',
});
export const ReviewWorkspaceInput = closed(Type.Partial(closed(workspace)).properties, {
  $id: 'ReviewWorkspaceConfigInput',
  description: 'Omitted fields take their defaults',
});

/** The complete configuration of reviews: omitted fields take their defaults. */
export function reviewConfigOf({ filters: given = {}, ...rest }: Static<typeof ReviewConfigInput>): ReviewConfig {
  const side = (filter: Static<ReturnType<typeof TextFilterInput>> = {}) => ({
    include: filter.include ?? [],
    exclude: filter.exclude ?? [],
  });
  return {
    playbook_id: rest.playbook_id ?? null,
    drafts: rest.drafts ?? false,
    incremental: rest.incremental ?? true,
    verify: rest.verify ?? true,
    check_run: rest.check_run ?? true,
    max_findings: rest.max_findings ?? null,
    min_confidence: rest.min_confidence ?? null,
    min_severity: rest.min_severity ?? 'low',
    request_changes: rest.request_changes ?? false,
    summary: rest.summary ?? 'always',
    debounce_seconds: rest.debounce_seconds ?? 30,
    repo_instructions: rest.repo_instructions ?? true,
    filters: {
      paths: given.paths ?? [],
      titles: side(given.titles),
      labels: side(given.labels),
      authors: side(given.authors),
      branches: side(given.branches),
      max_files: given.max_files ?? null,
    },
  };
}

/** The whole configuration of the editor. Throws 422 for a prefix that no branch can begin with (git-check-ref-format). */
export function editorConfigOf(given: Static<typeof EditorConfigInput>): EditorConfig {
  const prefix = given.branch_prefix ?? 'longhaul/';
  if (/\.\.|\/\/|\/\.|\.lock(?:\/|$)/.test(prefix))
    throw invalid('/editor_config/branch_prefix', 'pattern', 'is not a valid beginning of a branch name');
  return {
    mode: given.mode ?? 'off',
    branch_prefix: prefix,
    max_rounds: given.max_rounds ?? 3,
    test_commands: given.test_commands ?? [],
    allow_forks: given.allow_forks ?? false,
    protected_paths: given.protected_paths ?? ['.github/**', '.longhaul/**', 'CODEOWNERS', '.gitmodules'],
  };
}

/** All bounds of what reviews may cost. */
export function budgetConfigOf(given: Static<typeof ReviewBudgetInput>): ReviewBudgetConfig {
  return {
    per_review: given.per_review ?? null,
    per_pr: given.per_pr ?? null,
    per_day: given.per_day ?? null,
    currency: given.currency ?? 'USD',
    on_exceed: given.on_exceed ?? 'skip',
  };
}

/** All of how a repository is fetched. */
export function workspaceConfigOf(given: Static<typeof ReviewWorkspaceInput>): ReviewWorkspaceConfig {
  return {
    clone: given.clone ?? 'partial',
    max_clone_mb: given.max_clone_mb ?? 2_048,
    sandbox_tool_id: given.sandbox_tool_id ?? null,
    env_secret_names: given.env_secret_names ?? [],
  };
}

/** Configurations as they are shown, field by field. */
export function toReviewConfigView({ filters: kept, ...rest }: ReviewConfig): Static<typeof ReviewConfigView> {
  const side = ({ include, exclude }: { readonly include: readonly string[]; readonly exclude: readonly string[] }) => ({
    include: [...include],
    exclude: [...exclude],
  });
  return {
    playbook_id: rest.playbook_id,
    drafts: rest.drafts,
    incremental: rest.incremental,
    verify: rest.verify,
    check_run: rest.check_run,
    max_findings: rest.max_findings,
    min_confidence: rest.min_confidence,
    min_severity: rest.min_severity,
    request_changes: rest.request_changes,
    summary: rest.summary,
    debounce_seconds: rest.debounce_seconds,
    repo_instructions: rest.repo_instructions,
    filters: {
      paths: [...kept.paths],
      titles: side(kept.titles),
      labels: side(kept.labels),
      authors: side(kept.authors),
      branches: side(kept.branches),
      max_files: kept.max_files,
    },
  };
}

/** The same of the editor. */
export function toEditorConfigView(kept: EditorConfig): Static<typeof EditorConfigView> {
  return {
    mode: kept.mode,
    branch_prefix: kept.branch_prefix,
    max_rounds: kept.max_rounds,
    test_commands: [...kept.test_commands],
    allow_forks: kept.allow_forks,
    protected_paths: [...kept.protected_paths],
  };
}

/** The same of budgets. */
export function toReviewBudgetView(kept: ReviewBudgetConfig): Static<typeof ReviewBudgetView> {
  const { per_review, per_pr, per_day, currency, on_exceed } = kept;
  return { per_review, per_pr, per_day, currency, on_exceed };
}

/** The same of how a repository is fetched. */
export function toReviewWorkspaceView(kept: ReviewWorkspaceConfig): Static<typeof ReviewWorkspaceView> {
  const { clone, max_clone_mb, sandbox_tool_id, env_secret_names } = kept;
  return { clone, max_clone_mb, sandbox_tool_id, env_secret_names: [...env_secret_names] };
}
