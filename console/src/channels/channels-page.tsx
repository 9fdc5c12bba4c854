import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { useAgents } from '../app/use-agents.ts';
import { TriggerState } from '../triggers/trigger-state.tsx';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { Filters, ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { AddChannel, EditChannel } from './channel-forms.tsx';
import { channelKinds } from './kind-fields.ts';
import { channelTexts as c } from './messages.ts';
import { channelsRoute } from './routes.ts';

type Channel = Views['ChannelView'];
type Tested = { readonly name: string; readonly view: Views['ChannelTestView'] };

/** The chats and mailboxes in which agents answer. */
export function ChannelsPage() {
  const { workspaceId } = channelsRoute.useParams();
  const kind = oneOf(channelKinds, channelsRoute.useSearch().kind);
  const navigate = useNavigate();
  const { nameOf } = useAgents();
  const mayWrite = useMay('admin');
  const [tested, setTested] = useState<Tested | null>(null);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listChannels({ ...(kind !== undefined && { kind }), cursor, limit: 50 }, { signal }),
    [kind],
  );
  const list = usePagedList<Channel>({ queryKey: ['channels', kind], fetchPage });
  return (
    <Page title={c.channels} actions={mayWrite && <AddChannel workspaceId={workspaceId} />}>
      <Filters label={c.filters}>
        <Choice
          label={c.kind}
          value={kind ?? ''}
          options={[{ id: '', label: c.any }, ...channelKinds.map((id) => ({ id, label: c.kinds[id] }))]}
          onChange={(value) =>
            void navigate({
              to: '/w/$workspaceId/channels',
              params: { workspaceId },
              search: value === '' ? {} : { kind: value },
              replace: true,
            })
          }
        />
      </Filters>
      {tested !== null && (
        <Notice
          tone={tested.view.ok ? 'plain' : 'warn'}
          text={c.tested(tested.name, tested.view.ok)}
          detail={tested.view.checks.map(({ name, ok, detail }) => c.check(name, ok, detail))}
        />
      )}
      {list.rows.length > 0 && (
        <Table label={c.channels} columns={columnsFor(nameOf, mayWrite ? setTested : null)} rows={list.rows} keyOf={({ id }) => id} />
      )}
      <ListState list={list} isFiltered={kind !== undefined} />
    </Page>
  );
}

function State({ channel: { is_active, state, last_error } }: { readonly channel: Channel }) {
  return (
    <>
      <TriggerState state={is_active ? state : c.inactive} />
      {last_error !== null && <span className="hint"> {last_error}</span>}
    </>
  );
}

function Actions({ channel, onTested }: { readonly channel: Channel; readonly onTested: (tested: Tested) => void }) {
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: ['channels'] });
  const { id, name } = channel;
  return (
    <div className="actions">
      <EditChannel channel={channel} />
      <FormDialog
        label={c.test}
        title={c.testTitle}
        submit={c.testSubmit}
        intro={<p>{c.testText}</p>}
        fields={[
          { name: 'send_to', label: c.sendTo },
          { name: 'text', label: c.text },
        ]}
        toContent={({ send_to = '', text = '' }) => ({ send_to: send_to.trim() || null, text: text.trim() || null })}
        write={async (content, options) => onTested({ name, view: await api.testChannel({ channel_id: id, ...content }, options) })}
        onDone={refresh}
      />
      <ActionDialog
        label={c.delete}
        title={c.deleteTitle}
        submit={c.deleteSubmit}
        tone="danger"
        content={{ channel_id: id }}
        write={(content) => api.deleteChannel(content)}
        onDone={refresh}
      >
        <p>{c.deleteText}</p>
      </ActionDialog>
    </div>
  );
}

function columnsFor(nameOf: (id: string) => string, onTested: ((tested: Tested) => void) | null): Column<Channel>[] {
  return [
    { id: 'name', title: c.name, cell: ({ name }) => name },
    { id: 'kind', title: c.kind, cell: (row) => c.kinds[row.kind] },
    { id: 'agent', title: c.agent, cell: ({ agent_id }) => nameOf(agent_id) },
    { id: 'state', title: c.state, cell: (row) => <State channel={row} /> },
    { id: 'inbound', title: c.inbound, cell: ({ inbound_url }) => <code>{inbound_url}</code> },
    { id: 'last', title: c.last, cell: ({ last_inbound_at }) => last_inbound_at && <Time at={last_inbound_at} /> },
    ...(onTested !== null
      ? [{ id: 'actions', title: c.actions, cell: (row: Channel) => <Actions channel={row} onTested={onTested} /> }]
      : []),
  ];
}
