import { composite, plain, type TenantKey } from './tenant-key.ts';

/** Keys of code review. */
export const reviewKeys: readonly TenantKey[] = [
  {
    table: 'review_playbooks',
    columns: ['active_revision_id', 'id'],
    references: 'review_playbook_revisions',
    referenced: ['id', 'playbook_id'],
  },
  plain('review_playbook_revisions', 'playbook_id', 'review_playbooks'),
  composite('review_playbook_revisions', 'playbook_id', 'review_playbooks'),
  plain('review_playbook_revisions', 'created_by_user_id', 'users'),
  plain('repo_bindings', 'reviewer_agent_id', 'agents'),
  plain('repo_bindings', 'editor_agent_id', 'agents'),
  composite('review_pull_requests', 'binding_id', 'repo_bindings'),
  plain('review_pull_requests', 'last_playbook_revision_id', 'review_playbook_revisions'),
  composite('review_files', 'pull_request_id', 'review_pull_requests'),
  composite('review_events', 'binding_id', 'repo_bindings'),
  composite('review_commands', 'pull_request_id', 'review_pull_requests'),
  composite('review_commands', 'run_id', 'runs'),
  composite('review_findings', 'pull_request_id', 'review_pull_requests'),
  composite('review_findings', 'first_run_id', 'runs'),
  composite('review_answers', 'run_id', 'runs'),
  composite('runs', 'binding_id', 'repo_bindings'),
  composite('runs', 'review_pull_request_id', 'review_pull_requests'),
  plain('runs', 'playbook_revision_id', 'review_playbook_revisions'),
];
