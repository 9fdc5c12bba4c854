import { budgetConfigOf, editorConfigOf, reviewConfigOf, workspaceConfigOf } from '../../../api/code-review/configs.schema.ts';
import { defaultTemplates } from '../../support/default-playbook.ts';
import { none, note, same, twin, unique, type ColumnRules } from './column-values.ts';
import { canary } from './places.ts';

/** Columns of the tables of code review, by table. */
export const reviewColumns: Readonly<Record<string, ColumnRules>> = {
  review_playbooks: { slug: twin, is_default: same(false), active_revision_id: none },
  review_playbook_revisions: {
    revision_number: same(1),
    templates: (place) => ({ ...defaultTemplates(), ignore_rules: [canary(place, 'review_playbook_revisions', 'templates')] }),
    sha256: same('0'.repeat(64)),
  },
  repo_bindings: {
    repo_full_name: unique('repo_bindings', 'repo_full_name'),
    repo_key: unique('repo_bindings', 'repo_key'),
    enabled_events: same([]),
    review_config: (place) => {
      const config = reviewConfigOf({});
      return { ...config, filters: { ...config.filters, paths: [canary(place, 'repo_bindings', 'review_config')] } };
    },
    editor_config: same(editorConfigOf({})),
    budget_config: same(budgetConfigOf({})),
    workspace_config: same(workspaceConfigOf({})),
  },
  review_pull_requests: { state: same('open'), closed_at: none, due_at: none, due_since: none, last_playbook_revision_id: none },
  review_files: { hunk_hashes: same([]) },
  review_events: { facts: note('review_events', 'facts'), state: same('applied') },
  review_commands: { state: same('done') },
  review_findings: { state: same('open'), also_at: same([]), confidence: same('0.9') },
  review_posts: { state: same('posted') },
  review_answers: { answer: note('review_answers', 'answer') },
};
