import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { RegisterClient } from './register-client.tsx';
import { operatorTexts as o } from './messages.ts';

type Client = Views['OauthClientView'];

/** The applications that people may give access to. */
export function ClientsPage() {
  const [secret, setSecret] = useState<string | null>(null);
  const list = usePagedList<Client>({
    queryKey: ['oauth-clients'],
    fetchPage: (cursor, signal) => api.listOauthClients({ cursor, limit: 50 }, { signal }),
  });
  return (
    <Page title={o.clients} actions={<RegisterClient onSecret={setSecret} />}>
      {list.rows.length > 0 && (
        <Table label={o.clients} columns={columnsFor(setSecret)} rows={list.rows} keyOf={({ client_id }) => client_id} />
      )}
      <ListState list={list} />
      <ShownOnce title={o.secretTitle} secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function columnsFor(onSecret: (secret: string | null) => void): Column<Client>[] {
  const { client } = o;
  return [
    { id: 'name', title: client.name, cell: ({ client_name }) => client_name },
    { id: 'id', title: client.id, cell: ({ client_id }) => <code>{client_id}</code> },
    { id: 'kind', title: client.kind, cell: ({ kind }) => kind },
    { id: 'redirects', title: client.redirects, cell: ({ redirect_uris }) => redirect_uris.join(' ') },
    { id: 'used', title: client.used, cell: ({ last_used_at }) => (last_used_at === null ? o.never : <Time at={last_used_at} />) },
    { id: 'actions', title: client.actions, cell: (row) => <ClientActions client={row} onSecret={onSecret} /> },
  ];
}

interface ClientActionsProps {
  readonly client: Client;
  readonly onSecret: (secret: string | null) => void;
}

function ClientActions({ client: { client_id, token_endpoint_auth_method }, onSecret }: ClientActionsProps) {
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: ['oauth-clients'] });
  return (
    <div className="actions">
      <ActionDialog
        label={o.rotate}
        title={o.rotateTitle}
        submit={o.rotateSubmit}
        tone="danger"
        disabledBecause={token_endpoint_auth_method === 'none' ? o.noSecret : null}
        content={{ client_id }}
        write={async (content) => onSecret((await api.rotateOauthClientSecret(content)).client_secret)}
        onDone={refresh}
      >
        <p>{o.rotateText}</p>
      </ActionDialog>
      <ActionDialog
        label={o.deleteClient}
        title={o.deleteClientTitle}
        submit={o.deleteClientSubmit}
        tone="danger"
        content={{ client_id }}
        write={(content) => api.deleteOauthClient(content)}
        onDone={refresh}
      >
        <p>{o.deleteClientText}</p>
      </ActionDialog>
    </div>
  );
}
