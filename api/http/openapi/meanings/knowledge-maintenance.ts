import { under } from './knowledge.ts';

const ofPolicies = {
  tasks: 'What runs of the schedule do',
  stale_after_days: 'An item that has not been used for this long is reported as stale',
  allow_missing_embeddings: 'Whether a re-embed can succeed although some chunks got no vector',
  golden_queries: 'Questions with known answers, used by evaluate_retrieval',
};

/** What fields of runs, policies and findings of knowledge maintenance mean, and of exports, imports and purges. */
export const ofKnowledgeMaintenance: Readonly<Record<string, string>> = {
  'MaintenanceRunCreate': 'What a maintenance run should do',
  'MaintenanceRunView.kind': 'What it does: ingest a source, re-embed, import, export, maintain or purge a base',
  'MaintenanceRunView.tasks': 'The tasks of a maintenance run; empty for other kinds',
  'MaintenanceRunView.status': 'queued, running, paused and cancelling are live; succeeded, failed and cancelled are final',
  'MaintenanceRunView.dry_run': 'Whether it counts and reports, and changes nothing',
  'MaintenanceRunView.source_id': 'The source that is ingested; null for other kinds',
  'MaintenanceRunView.error_count': 'How many errors there were, shown or not',
  'MaintenanceRunView.result': 'The result by name, depending on the kind; null until there is one',
  'MaintenanceRunView.cut_over_at': 'When the new base of a re-embed replaced the old one; null until then, and for other kinds',
  'KnowledgeRunProgress': 'The progress of a run',
  'KnowledgeRunProgress.stage': 'The current stage',
  'KnowledgeRunProgress.done': 'Work of the stage that is done',
  'KnowledgeRunProgress.total': 'Total work of the stage; null while unknown',
  'KnowledgeRunCost': 'The cost of a run',
  'KnowledgeRunCost.estimate': 'Estimated cost at the time of the request; null if unknown',
  'KnowledgeRunCost.spent': 'The cost so far',
  'KnowledgeRunError.stage': 'The stage of the run',
  'KnowledgeRunError.code': 'Kind of failure, for programs',
  'KnowledgeRunError.detail': 'What happened, for people',
  'KnowledgeRunError.item_id': 'The item concerned; null for none',
  'KnowledgeRunError.source_id': 'The source concerned; null for none',
  'KnowledgeRunError.chunk_ord': 'Position of the chunk in that item, from 0; null for none',

  ...under('MaintenancePolicyView', ofPolicies),
  ...under('MaintenancePolicyPut', ofPolicies),
  'MaintenancePolicyView.updated_at': 'When it was last set; null for the defaults of a base without a policy',
  'KnowledgeDecay.enabled': 'Whether scores decay',
  'KnowledgeDecay.half_life_days': 'Number of unused days after which a score has lost half of what it can lose',
  'KnowledgeGoldenQuery.query': 'The question, as a search query',

  'KnowledgeFindingView.kind':
    'What was found: equal items, contradicting items, a stale item, rows without an owner, a derived item without evidence, text that gives instructions to models, or an index mismatch',
  'KnowledgeFindingView.state': 'open until it is resolved or dismissed; an undo reopens it',
  'KnowledgeFindingView.detail': 'Details by name, depending on the kind',
  'KnowledgeFindingView.resolution': 'The resolution; null while it is open',
  'KnowledgeFindingView.reason': 'The note given with the resolution; null for none',
  'KnowledgeFindingView.resolved_by': 'Who resolved it; null while it is open',
  'KnowledgeFindingView.resolved_at': 'When it was resolved; null while it is open',
  'FindingResolve': 'How to resolve a finding, and with which of its items',
  'FindingResolve.action':
    'merge: the item that stays gets the evidence of the other, which is superseded; supersede: the same without the evidence; retire one item; keep_both and dismiss change no item; undo reverts the last resolution',
  'FindingResolve.reason': 'Kept with the finding',

  'KnowledgeExport': 'What an export contains besides sources, items and relations',
  'KnowledgeExport.include_grants': 'Also includes the grants of the base',
  'KnowledgeImport': 'The bundle, and how its rows are imported',
  'KnowledgePurge.item_ids': 'The items to remove; of mode items',
  'KnowledgePurge.subject_kind': 'Whether subject_id is a user or a guest; of mode subject',
  'KnowledgePurge.subject_id': 'The user or guest whose traces are removed; of mode subject',
};
