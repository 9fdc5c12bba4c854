import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { versionOf } from '../ui/edit-state.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { toolTexts as o } from './messages.ts';
import { toolRoute } from './routes.ts';
import { ToolSettings } from './tool-settings.tsx';
import { TestTool } from './test-tool.tsx';

type Tool = Views['ToolView'];

/** One tool: what it is, its secrets, and a try. */
export function ToolPage() {
  const { toolId } = toolRoute.useParams();
  const mayWrite = useMay('admin');
  const mayTest = useMay('member');
  const tool = useQuery({
    queryKey: ['tool', toolId],
    queryFn: async ({ signal }) => versionOf(await api.getTool({ tool_id: toolId }, { signal })),
    refetchInterval: 5_000,
  });
  if (tool.error instanceof ApiError && tool.error.status === 404) return <NotFound />;
  if (tool.data === undefined)
    return tool.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={tool.error} onRetry={() => void tool.refetch()} />;
  const { value } = tool.data;
  return (
    <Page title={value.display_name ?? value.slug} actions={mayWrite && <DeleteTool tool={value} />}>
      <Facts
        facts={[
          [o.columns.slug, value.slug],
          [o.fields.kind, o.kinds[value.kind] ?? value.kind],
          [o.fields.effect, value.effect],
        ]}
      />
      {mayWrite ? (
        <Section title={o.settings}>
          <ToolSettings key={toolId} tool={tool.data} />
        </Section>
      ) : (
        <Section title={o.settings}>
          <p>{value.description}</p>
          <Json value={value.input_schema} label={o.fields.input_schema} />
          <Json value={value.config} label={o.fields.config} />
        </Section>
      )}
      {mayWrite && <ToolSecrets tool={value} />}
      {mayTest && <TestTool key={`test ${toolId}`} tool={value} />}
    </Page>
  );
}

function DeleteTool({ tool }: { readonly tool: Tool }) {
  const { workspaceId } = toolRoute.useParams();
  const navigate = useNavigate();
  return (
    <FormDialog
      label={o.delete}
      title={o.deleteTitle}
      submit={o.deleteSubmit}
      tone="danger"
      intro={<p>{o.deleteText}</p>}
      fields={[{ kind: 'check', name: 'force', label: o.force }]}
      toContent={({ force }) => ({ tool_id: tool.id, ...(force === 'true' && { force: true }) })}
      write={(content) => api.deleteTool(content)}
      onDone={() => void navigate({ to: '/w/$workspaceId/tools', params: { workspaceId } })}
    />
  );
}

/** Values go to the server and never come back. */
function ToolSecrets({ tool }: { readonly tool: Tool }) {
  return (
    <Section title={o.secrets}>
      <p className="hint">{tool.secrets_required.length === 0 ? o.noSecrets : o.secretsHint}</p>
      {tool.secrets_required.map((name) => (
        <div key={name} className="actions">
          <FormDialog
            label={o.setSecret(name)}
            title={o.setSecretTitle}
            submit={t.actions.save}
            intro={<p>{name}</p>}
            fields={[{ kind: 'password', name: 'value', label: o.value }]}
            toContent={({ value = '' }) => (value === '' ? null : { tool_id: tool.id, values: { [name]: value } })}
            write={(content) => api.setToolSecrets(content)}
          />
          <ActionDialog
            label={o.deleteSecret(name)}
            title={o.deleteSecretTitle}
            submit={o.deleteSecretSubmit}
            tone="danger"
            content={{ tool_id: tool.id, name }}
            write={(content) => api.deleteToolSecret(content)}
          >
            <p>{o.deleteSecretText}</p>
          </ActionDialog>
        </div>
      ))}
    </Section>
  );
}
