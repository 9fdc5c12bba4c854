import type { Column } from '../ui/data-grid.tsx';
import { Table } from '../ui/table.tsx';
import type { Views } from '../app/api.ts';
import { agentTexts as a } from './messages.ts';

type Change = Views['RevisionChange'];

const { revisions: r } = a;
const textOf = (value: unknown) =>
  value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

const columns: Column<Change>[] = [
  { id: 'pointer', title: r.pointer, cell: ({ pointer }) => <code>{pointer || '/'}</code> },
  { id: 'before', title: r.before, cell: ({ op, before }) => (op === 'add' ? '–' : textOf(before)) },
  { id: 'after', title: r.after, cell: ({ op, after }) => (op === 'remove' ? '–' : textOf(after)) },
];

/** Where two documents differ, one row a place. */
export function Changes({ changes }: { readonly changes: readonly Change[] }) {
  if (changes.length === 0) return <p className="hint">{r.none}</p>;
  return <Table label={r.differences} columns={columns} rows={changes} keyOf={({ pointer, op }) => `${op} ${pointer}`} />;
}
