import { useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { api, type Views } from '../app/api.ts';
import type { Column } from '../ui/data-grid.tsx';
import { FormFields } from '../ui/form-fields.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { KeyActions, MakeKey } from './key-forms.tsx';
import { peopleTexts as p } from './messages.ts';
import { keysRoute } from './routes.ts';

type Key = Views['ServiceKeyView'];

/** The keys of programs. The plaintext of a new one lies in this view until its dialog closes, and nowhere else. */
export function KeysPage() {
  const { workspaceId } = keysRoute.useParams();
  const search = keysRoute.useSearch();
  const navigate = useNavigate();
  const [plaintext, setPlaintext] = useState<string | null>(null);
  const { q, revoked } = search;
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listServiceKeys(
        { ...(q !== undefined && { q }), ...(revoked === 'true' && { include_revoked: true }), cursor, limit: 50 },
        { signal },
      ),
    [q, revoked],
  );
  const list = usePagedList<Key>({ queryKey: ['service-keys', search], fetchPage });
  const set = (name: keyof typeof search, value: string) =>
    void navigate({
      to: '/w/$workspaceId/service-keys',
      params: { workspaceId },
      search: { ...search, [name]: value || undefined },
      replace: true,
    });
  return (
    <Page title={p.keys} actions={<MakeKey workspaceId={workspaceId} onPlaintext={setPlaintext} />}>
      <p className="hint">{p.keysText}</p>
      <Filters label={p.filters}>
        <TypedFilter label={p.keyName} value={q ?? ''} onSettle={(value) => set('q', value)} />
        <FormFields
          fields={[{ kind: 'check', name: 'revoked', label: p.showRevoked }]}
          values={{ revoked: revoked ?? '' }}
          errors={{}}
          onChange={(_, value) => set('revoked', value)}
        />
      </Filters>
      {list.rows.length > 0 && <Table label={p.keys} columns={columnsFor(setPlaintext)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={q !== undefined} />
      <ShownOnce title={p.newKey} secret={plaintext} onClose={() => setPlaintext(null)} />
    </Page>
  );
}

function columnsFor(onPlaintext: (plaintext: string) => void): Column<Key>[] {
  const { key } = p;
  return [
    { id: 'name', title: key.name, cell: ({ name }) => name },
    {
      id: 'key',
      title: key.key,
      cell: ({ prefix, last4 }) => (
        <code>
          {prefix}…{last4}
        </code>
      ),
    },
    { id: 'role', title: key.role, cell: ({ role }) => p.roles[role] ?? role },
    { id: 'scope', title: key.scope, cell: ({ scope }) => p.scopes[scope] },
    { id: 'scopes', title: key.scopes, cell: ({ scopes }) => (scopes.length === 0 ? p.all : scopes.join(' ')) },
    { id: 'used', title: key.used, cell: ({ last_used_at }) => (last_used_at === null ? p.never : <Time at={last_used_at} />) },
    { id: 'expires', title: key.expires, cell: ({ expires_at }) => (expires_at === null ? p.never : <Time at={expires_at} />) },
    { id: 'actions', title: key.actions, cell: (row) => <KeyActions serviceKey={row} onPlaintext={onPlaintext} /> },
  ];
}
