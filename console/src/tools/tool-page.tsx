import { useQuery } from '@tanstack/react-query';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { toolTexts as x } from './messages.ts';
import { toolRoute } from './routes.ts';
import { DeleteTool, EditTool } from './tool-forms.tsx';
import { ToolSecrets } from './tool-secrets.tsx';
import { TryTool } from './try-tool.tsx';
import { ActiveState } from './tools-page.tsx';

/** One tool: what it is, its secrets, and a call of it by hand. */
export function ToolPage() {
  const { toolId, workspaceId } = toolRoute.useParams();
  const isAdmin = useMay('admin');
  const isMember = useMay('member');
  const tool = useQuery({ queryKey: ['tools', toolId], queryFn: ({ signal }) => api.getTool({ tool_id: toolId }, { signal }) });
  if (tool.error instanceof ApiError && tool.error.status === 404) return <NotFound />;
  if (tool.data === undefined)
    return tool.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={tool.error} onRetry={() => void tool.refetch()} />;
  const { slug, display_name, kind, effect, description, critical, client_owned, is_active, timeout_s, response_max_chars, updated_at } =
    tool.data;
  const approvals = [...(critical ? [x.critical] : []), ...(client_owned ? [x.clientOwned] : [])].join(', ');
  return (
    <Page title={display_name ?? slug} actions={<ActiveState isActive={is_active} />}>
      <Facts
        facts={[
          [x.columns.slug, <code key="slug">{slug}</code>],
          [x.kind, x.kinds[kind] ?? kind],
          [x.effect, x.effects[effect] ?? effect],
          [x.facts.description, description],
          [x.facts.approvals, approvals || null],
          [x.facts.limits, x.timesOut(timeout_s, response_max_chars)],
          [x.facts.changed, <Time key="changed" at={updated_at} />],
          [x.facts.id, <code key="id">{toolId}</code>],
        ]}
      />
      {isAdmin && (
        <div className="actions">
          <EditTool toolId={toolId} />
          <DeleteTool toolId={toolId} workspaceId={workspaceId} />
        </div>
      )}
      {isMember && !client_owned && <TryTool tool={tool.data} />}
      {isAdmin && <ToolSecrets tool={tool.data} />}
      <Section title={x.schema}>
        <Json value={tool.data.input_schema} label={x.schema} />
      </Section>
      <Section title={x.config}>
        <Json value={tool.data.config} label={x.config} />
      </Section>
    </Page>
  );
}
