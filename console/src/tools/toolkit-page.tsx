import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Check } from '../ui/check.tsx';
import { EditForm } from '../ui/edit-form.tsx';
import { versionOf, type Version } from '../ui/edit-state.ts';
import { Area, Field } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { JsonField } from '../ui/json-field.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { toolTexts as o } from './messages.ts';
import { toolkitRoute } from './routes.ts';
import { McpState } from './mcp-state.tsx';
import { ToolkitRevisions } from './toolkit-revisions.tsx';

type Toolkit = Views['ToolkitView'];
type Settings = Pick<Toolkit, 'name' | 'description' | 'config' | 'secrets_required' | 'is_active'>;

/** One toolkit: settings, the state of its server, and its revisions tool by tool. */
export function ToolkitPage() {
  const { toolkitId, workspaceId } = toolkitRoute.useParams();
  const mayWrite = useMay('admin');
  const navigate = useNavigate();
  const toolkit = useQuery({
    queryKey: ['toolkit', toolkitId],
    queryFn: async ({ signal }) => versionOf(await api.getToolkit({ toolkit_id: toolkitId }, { signal })),
    refetchInterval: 5_000,
  });
  if (toolkit.error instanceof ApiError && toolkit.error.status === 404) return <NotFound />;
  if (toolkit.data === undefined)
    return toolkit.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={toolkit.error} onRetry={() => void toolkit.refetch()} />
    );
  const { value } = toolkit.data;
  const remove = mayWrite && (
    <ActionDialog
      label={o.delete}
      title={o.deleteKitTitle}
      submit={o.deleteKitSubmit}
      tone="danger"
      content={{ toolkit_id: toolkitId }}
      write={(content) => api.deleteToolkit(content)}
      onDone={() => void navigate({ to: '/w/$workspaceId/toolkits', params: { workspaceId } })}
    >
      <p>{o.deleteKitText}</p>
    </ActionDialog>
  );
  return (
    <Page title={value.name} actions={remove}>
      <Facts
        facts={[
          [o.ofKit.kind, o.kitKinds[value.kind]],
          [o.kit.tools, value.tool_count],
          [o.kit.quarantined, value.quarantined_count],
        ]}
      />
      <Link to="/w/$workspaceId/tools" params={{ workspaceId }} search={{ toolkit_id: toolkitId }}>
        {o.toTools}
      </Link>
      {value.kind === 'mcp' && <McpState toolkitId={toolkitId} />}
      <Section title={o.settings}>
        {mayWrite ? <ToolkitSettings key={toolkitId} toolkit={toolkit.data} /> : <Json value={value.config} label={o.ofKit.config} />}
      </Section>
      <ToolkitRevisions toolkit={value} />
    </Page>
  );
}

function settingsOf({ value, etag }: Version<Toolkit>): Version<Settings> {
  const { name, description, config, secrets_required, is_active } = value;
  return { value: { name, description, config, secrets_required, is_active }, etag };
}

function ToolkitSettings({ toolkit }: { readonly toolkit: Version<Toolkit> }) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<string | null>(null);
  const { id } = toolkit.value;
  return (
    <EditForm<Settings>
      draft={`toolkit:${id}`}
      current={settingsOf(toolkit)}
      read={async () => settingsOf(versionOf(await api.getToolkit({ toolkit_id: id })))}
      write={async (changes, options) => {
        // The server checks it by the kind.
        await api.updateToolkit({ toolkit_id: id, ...changes } as Parameters<typeof api.updateToolkit>[0], options);
        await queries.refetchQueries({ queryKey: ['toolkit', id] });
      }}
      labels={o.ofKit}
      disabledBecause={problem}
    >
      {({ value, set, error }) => (
        <>
          <Field label={o.ofKit.name} value={value.name} onChange={(text) => set('name', text)} error={error('name')} />
          <Area
            label={o.ofKit.description}
            value={value.description ?? ''}
            onChange={(text) => set('description', text || null)}
            error={error('description')}
          />
          <JsonField
            label={o.ofKit.config}
            value={value.config}
            rows={8}
            onChange={(next) => set('config', (next ?? {}) as Settings['config'])} // the server says if it does not fit
            onProblem={setProblem}
            error={error('config')}
          />
          <Area
            label={o.ofKit.secrets_required}
            value={value.secrets_required.join('\n')}
            onChange={(text) => set('secrets_required', text === '' ? [] : text.split('\n'))}
            error={error('secrets_required')}
          />
          <Check label={o.ofKit.is_active} isChecked={value.is_active} onChange={(next) => set('is_active', next)} />
        </>
      )}
    </EditForm>
  );
}
