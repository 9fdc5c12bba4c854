import { useQueryClient } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { readJson } from '../ui/read-json.ts';
import { Notice } from '../ui/notice.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { linesOf } from './create-tool.tsx';
import { toolTexts as o } from './messages.ts';

type Toolkit = Views['ToolkitView'];
type Revision = Views['ToolkitRevisionView'];
type Difference = Revision['diff'][number];

/** The revisions of a toolkit, newest first, each with what it changes tool by tool. */
export function ToolkitRevisions({ toolkit }: { readonly toolkit: Toolkit }) {
  const mayWrite = useMay('admin');
  const list = usePagedList<Revision>({
    queryKey: ['toolkit', toolkit.id, 'revisions'],
    fetchPage: (cursor, signal) => api.listToolkitRevisions({ toolkit_id: toolkit.id, cursor, limit: 20 }, { signal }),
  });
  return (
    <Section title={o.revisions} actions={mayWrite && toolkit.kind !== 'mcp' && <AddRevision toolkit={toolkit} />}>
      {list.rows.map((revision) => (
        <OneRevision key={revision.id} toolkit={toolkit} revision={revision} />
      ))}
      <ListState list={list} />
    </Section>
  );
}

function OneRevision({ toolkit, revision }: { readonly toolkit: Toolkit; readonly revision: Revision }) {
  const mayWrite = useMay('admin');
  const { number, state, origin, note, error, diff, quarantined, left_out, created_at } = revision;
  const canActivate = state === 'inactive' || state === 'superseded' || (state === 'active' && quarantined.length > 0);
  const columns: Column<Difference>[] = [
    { id: 'name', title: o.diffColumns.name, cell: ({ name }) => name },
    { id: 'change', title: o.diffColumns.change, cell: ({ change }) => change },
    { id: 'fields', title: o.diffColumns.fields, cell: ({ fields }) => fields.join(', ') },
    { id: 'quarantine', title: o.diffColumns.quarantine, cell: ({ name }) => (quarantined.includes(name) ? o.isQuarantined : '') },
  ];
  return (
    <section aria-label={`${o.revision.number} ${number}`} className="stack">
      <div className="actions">
        <h3>{`${o.revision.number} ${number}`}</h3>
        <span>{[state, origin, note].filter(Boolean).join(', ')}</span>
        <Time at={created_at} />
        {mayWrite && canActivate && <Activate toolkit={toolkit} revision={revision} />}
      </div>
      {error !== null && <Notice tone="warn" text={error} />}
      {diff.length > 0 && <Table label={o.diff(number)} columns={columns} rows={diff} keyOf={({ name }) => name} />}
      {left_out.length > 0 && <Notice tone="plain" text={o.leftOut} detail={left_out.map(({ name, reason }) => `${name}: ${reason}`)} />}
    </section>
  );
}

function Activate({ toolkit, revision }: { readonly toolkit: Toolkit; readonly revision: Revision }) {
  const queries = useQueryClient();
  return (
    <FormDialog<{ readonly toolkit_id: string; readonly revision_id: string } & Views['ToolkitRevisionActivate']>
      label={revision.state === 'superseded' ? o.rollBack : o.activate}
      title={o.activateTitle(revision.number)}
      submit={o.activateSubmit}
      intro={<p>{o.activateText}</p>}
      fields={[{ kind: 'area', name: 'approve', label: o.approve }]}
      toContent={({ approve = '' }) => {
        const approved = linesOf(approve);
        return { toolkit_id: toolkit.id, revision_id: revision.id, approve: approved.length === 0 ? 'all' : approved };
      }}
      write={(content) => api.activateToolkitRevision(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkit', toolkit.id] })}
    />
  );
}

function AddRevision({ toolkit }: { readonly toolkit: Toolkit }) {
  const queries = useQueryClient();
  const isOpenapi = toolkit.kind === 'openapi';
  return (
    <FormDialog<{ readonly toolkit_id: string } & Views['ToolkitRevisionCreate']>
      label={o.addRevision}
      title={o.addRevisionTitle}
      submit={t.actions.save}
      fields={[
        { kind: 'area', name: 'source', label: isOpenapi ? o.openapi : o.manual, isMono: true, rows: 12 },
        { name: 'note', label: o.note },
      ]}
      toContent={({ source = '', note = '' }) => {
        if (source.trim() === '') return null;
        const at = { toolkit_id: toolkit.id, note: note.trim() || null };
        if (isOpenapi) return { ...at, source: { type: 'openapi', document: source } };
        const { value } = readJson(source);
        // The server says what is wrong with them.
        return Array.isArray(value) ? { ...at, source: { type: 'manual', tools: value as Views['ManualSource']['tools'] } } : null;
      }}
      write={(content, options) => api.createToolkitRevision(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['toolkit', toolkit.id] })}
    />
  );
}
