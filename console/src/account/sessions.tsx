import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api, type Views } from '../app/api.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { accountTexts as a } from './messages.ts';

type Session = Views['SessionView'];

/** Where one is signed in. */
export function Sessions() {
  const queries = useQueryClient();
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) => api.listSessions({ cursor, limit: 50 }, { signal }),
    [],
  );
  const list = usePagedList<Session>({ queryKey: ['sessions'], fetchPage });
  const refresh = () => void queries.invalidateQueries({ queryKey: ['sessions'] });
  return (
    <Section
      title={a.sessions}
      actions={
        list.rows.length > 1 && (
          <ActionDialog
            label={a.revokeOthers}
            title={a.revokeOthersTitle}
            submit={a.revokeOthersSubmit}
            tone="danger"
            content={{}}
            write={() => api.revokeOtherSessions({})}
            onDone={refresh}
          />
        )
      }
    >
      <p className="hint">{a.sessionsText}</p>
      {list.rows.length > 0 && <Table label={a.sessions} columns={columnsFor(refresh)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Section>
  );
}

function columnsFor(refresh: () => void): Column<Session>[] {
  const { session } = a;
  return [
    {
      id: 'device',
      title: session.device,
      cell: (row) => (row.kind === 'oauth' ? a.app(row.client_name ?? row.client_id ?? '') : (row.device_label ?? row.user_agent)),
    },
    { id: 'where', title: session.where, cell: ({ ip_truncated }) => ip_truncated },
    { id: 'since', title: session.since, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'seen', title: session.seen, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
    {
      id: 'actions',
      title: session.actions,
      cell: ({ id, current }) =>
        current ? (
          <span className="hint">{a.thisOne}</span>
        ) : (
          <ActionDialog
            label={a.revoke}
            title={a.revokeTitle}
            submit={a.revokeSubmit}
            tone="danger"
            content={{ session_id: id }}
            write={(content) => api.revokeSession(content)}
            onDone={refresh}
          />
        ),
    },
  ];
}
