import { under } from './under.ts';

const ofPolicies = {
  tasks: 'What runs of the schedule do',
  stale_after_days: 'An item that has not been used for so long is noticed as stale',
  allow_missing_embeddings: 'Whether a re-embed may succeed although some chunks got no vector',
  golden_queries: 'Questions with known answers, which evaluate_retrieval asks',
};

/** What fields of runs, policies and findings of knowledge maintenance mean, and of exports, imports and purges. */
export const ofKnowledgeMaintenance: Readonly<Record<string, string>> = {
  'MaintenanceRunCreate': 'What a run of maintenance is to do',
  'MaintenanceRunView.kind': 'What it does: ingest a source, re-embed, import, export, maintain or purge a base',
  'MaintenanceRunView.tasks': 'What a run of kind maintenance does; empty for other kinds',
  'MaintenanceRunView.status':
    'queued, running, paused and cancelling go on; succeeded, failed and cancelled are final and never change again',
  'MaintenanceRunView.dry_run': 'Whether it counts and reports, and changes nothing',
  'MaintenanceRunView.source_id': 'The source that is ingested; null for other kinds',
  'MaintenanceRunView.error_count': 'How many errors there were, shown or not',
  'MaintenanceRunView.result': 'What came of it, by name, in the form of its kind; null until there is something',
  'MaintenanceRunView.cut_over_at': 'When the new base of a re-embed took the place of the old one; null until then, and for other kinds',
  'KnowledgeRunProgress': 'How far a run is',
  'KnowledgeRunProgress.stage': 'What it is at',
  'KnowledgeRunProgress.done': 'How much of the stage is done',
  'KnowledgeRunProgress.total': 'How much the stage has in all; null while that is unknown',
  'KnowledgeRunCost': 'What a run costs',
  'KnowledgeRunCost.estimate': 'What it was expected to cost when it was asked for; null when nobody could say',
  'KnowledgeRunCost.spent': 'What it has cost by now',
  'KnowledgeRunError.stage': 'Where the run stood',
  'KnowledgeRunError.code': 'Kind of failure, for programs',
  'KnowledgeRunError.detail': 'What happened, for people',
  'KnowledgeRunError.item_id': 'The item that it happened at; null when it was none',
  'KnowledgeRunError.source_id': 'The source that it happened at; null when it was none',
  'KnowledgeRunError.chunk_ord': 'Place of the chunk in that item, from 0; null when it was none',

  ...under('MaintenancePolicyView', ofPolicies),
  ...under('MaintenancePolicyPut', ofPolicies),
  'MaintenancePolicyView.updated_at': 'When it was last put; null for the defaults of a base that has none',
  'KnowledgeDecay.enabled': 'Whether scores fall at all',
  'KnowledgeDecay.half_life_days': 'After so many days unused, half of what a score can lose is gone',
  'KnowledgeGoldenQuery.query': 'The question, as it would be searched for',

  'KnowledgeFindingView.kind':
    'What was noticed: equal items, items that contradict each other, a stale one, rows without an owner, a derived item without evidence, text that gives models orders, or an index that does not match',
  'KnowledgeFindingView.state': 'open until somebody resolves or dismisses it; an undo opens it again',
  'KnowledgeFindingView.detail': 'Facts by name, in the form of the kind',
  'KnowledgeFindingView.resolution': 'What was done about it; null while it is open',
  'KnowledgeFindingView.reason': 'Why, as given with the resolution; null when nothing was said',
  'KnowledgeFindingView.resolved_by': 'Who resolved it; null while it is open',
  'KnowledgeFindingView.resolved_at': 'When it was resolved; null while it is open',
  'FindingResolve': 'What is done about a finding, and with which of its items',
  'FindingResolve.action':
    'merge: evidence joins the item that stays, the other is superseded; supersede: the same without the evidence; retire one item; keep_both and dismiss change no item; undo takes the last resolution back',
  'FindingResolve.reason': 'Kept with the finding',

  'KnowledgeExport': 'What an export holds beside sources, items and relations',
  'KnowledgeExport.include_grants': 'Also the grants of the base',
  'KnowledgeImport': 'The bundle, and how its rows are taken',
  'KnowledgePurge.item_ids': 'The items to remove; of mode items',
  'KnowledgePurge.subject_kind': 'Whether subject_id is a user or a guest; of mode subject',
  'KnowledgePurge.subject_id': 'The user or guest whose traces are removed; of mode subject',
};
