import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Check } from '../ui/check.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Notice } from '../ui/notice.tsx';
import { Facts } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { toolTexts as x } from './messages.ts';

type Revision = Views['ToolkitRevisionView'];
type Difference = Revision['diff'][number];

const { kit } = x;
const columns: Column<Difference>[] = [
  { id: 'name', title: kit.changeColumns.name, cell: ({ name }) => <code>{name}</code> },
  { id: 'change', title: kit.changeColumns.change, cell: ({ change }) => kit.changes[change] ?? change },
  { id: 'fields', title: kit.changeColumns.fields, cell: ({ fields }) => fields.join(', ') || '–' },
];

/** How a revision differs from the active one, tool by tool, and its approval. */
export function RevisionOfToolkit({ revision }: { readonly revision: Revision }) {
  const isAdmin = useMay('admin');
  const { number, state, diff, quarantined, left_out_count, error } = revision;
  return (
    <>
      <Facts
        facts={[
          [kit.revisions, kit.number(number)],
          [x.columns.state, kit.states[state] ?? state],
        ]}
      />
      {error !== null && <Notice tone="bad" text={error} />}
      {quarantined.length > 0 && <Notice tone="warn" text={kit.quarantined(quarantined)} />}
      {left_out_count > 0 && (
        <Notice
          tone="plain"
          text={kit.leftOut(left_out_count)}
          detail={revision.left_out.map(({ name, reason }) => `${name}: ${reason}`)}
        />
      )}
      {diff.length > 0 && <Table label={kit.latest} columns={columns} rows={diff} keyOf={({ name }) => name} />}
      {isAdmin && state === 'inactive' && <Approve revision={revision} />}
    </>
  );
}

function Approve({ revision }: { readonly revision: Revision }) {
  const queries = useQueryClient();
  const names = revision.diff.filter(({ change }) => change !== 'removed').map(({ name }) => name);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const chosen = names.filter((name) => !left.has(name));
  const toggle = (name: string, isChosen: boolean) => {
    const next = new Set(left);
    if (isChosen) next.delete(name);
    else next.add(name);
    setLeft(next);
  };
  return (
    <ActionDialog
      label={kit.approve}
      title={kit.approveTitle(revision.number)}
      submit={kit.approveSubmit}
      content={{ toolkit_id: revision.toolkit_id, revision_id: revision.id, approve: left.size === 0 ? ('all' as const) : chosen }}
      write={(content) => api.activateToolkitRevision(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkits'] })}
    >
      <p>{kit.approveText}</p>
      {names.map((name) => (
        <Check key={name} label={name} isChecked={!left.has(name)} onChange={(isChosen) => toggle(name, isChosen)} />
      ))}
    </ActionDialog>
  );
}
