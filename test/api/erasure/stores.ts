/** What becomes of what a store holds: `at once`, `within …`, `kept: …`; `-`: it holds nothing of it. */
export type ErasureOutcome = 'at once' | '-' | `within ${string}` | `kept: ${string}`;

/** A person is deleted (`DELETE /users/{id}`, or homeless after the purge of a workspace); a run is deleted (`DELETE /runs/{id}`). */
export interface ErasureOutcomes {
  readonly person: ErasureOutcome;
  readonly run: ErasureOutcome;
  /** When rows go by themselves. */
  readonly age: string;
}

export interface OtherErasureOutcomes extends ErasureOutcomes {
  readonly workspace: ErasureOutcome;
  readonly organization: ErasureOutcome;
}

const byOperator = 'kept: the operator’s, by their own rules';

/** What holds something outside the tables. */
export const others: Readonly<Record<string, OtherErasureOutcomes>> = {
  'Redis: streams of runs': {
    person: '-',
    run: 'at once',
    workspace: 'at once',
    organization: 'at once',
    age: 'an hour after the last frame',
  },
  'Redis: counters of limits': {
    person: 'within an hour: digests under a secret, network addresses',
    run: '-',
    workspace: '-',
    organization: '-',
    age: 'an hour at most',
  },
  'Redis: sessions of MCP clients': {
    person: 'within an hour: its id alone says who',
    run: '-',
    workspace: '-',
    organization: '-',
    age: 'when idle',
  },
  'Redis: channels': { person: '-', run: '-', workspace: '-', organization: '-', age: 'nothing is kept' },
  'Memory of processes': {
    person: '-',
    run: 'within minutes: frames of runs that are watched',
    workspace: 'within minutes: frames of runs that are watched',
    organization: 'within minutes: frames of runs that are watched',
    age: 'with the last reader',
  },
  'Files of attachments (STORAGE_DIR, S3)': {
    person: 'kept: what people brought is the organization’s',
    run: 'within a day: with its attachments',
    workspace: 'within a day: what no row knows is swept',
    organization: 'at once',
    age: 'with their rows',
  },
  'Temporal: histories, search attributes, memos': {
    person: '-',
    run: 'kept: ids alone, for the namespace’s retention',
    workspace: 'kept: ids alone, for the namespace’s retention',
    organization: 'kept: ids alone, for the namespace’s retention',
    age: 'the namespace’s retention',
  },
  'Mails that were sent, files of MAIL_DIR': {
    person: byOperator,
    run: '-',
    workspace: byOperator,
    organization: byOperator,
    age: byOperator,
  },
  'Logs': {
    person: 'kept: ids alone, by the operator’s own rules',
    run: byOperator,
    workspace: byOperator,
    organization: byOperator,
    age: byOperator,
  },
  'Anchor file of the audit log': { person: '-', run: '-', workspace: '-', organization: 'kept: the id, digests and counts', age: 'never' },
  'Backups': { person: byOperator, run: byOperator, workspace: byOperator, organization: byOperator, age: byOperator },
};
