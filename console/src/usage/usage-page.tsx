import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { Choice } from '../ui/choice.tsx';
import { FormFields } from '../ui/form-fields.tsx';
import { Filters, Page } from '../ui/page.tsx';
import { oneOf } from '../ui/search.ts';
import { useNow } from '../ui/time.tsx';
import { ExportUsage } from './export-usage.tsx';
import { dayText, groupings, spanOf } from './groups.ts';
import { usageTexts as u } from './messages.ts';
import { usageRoute } from './routes.ts';
import { UsagePanel } from './usage-panel.tsx';
import { UsageRecords } from './usage-records.tsx';
import { useNames } from './use-names.ts';

/** What was used, by day and by one grouping; for members single calls, for administrators the file. */
export function UsagePage() {
  const { workspaceId } = usageRoute.useParams();
  const search = usageRoute.useSearch();
  const navigate = useNavigate();
  const now = useNow(false);
  const nameOf = useNames(workspaceId);
  const mayRecords = useMay('member');
  const mayExport = useMay('admin');
  const by = oneOf(groupings, search.group_by) ?? 'agent';
  const isAll = search.workspace === 'all';
  const span = useMemo(
    () => ({ ...spanOf(search.from, search.to), ...(!isAll && { workspace_id: workspaceId }) }),
    [search.from, search.to, isAll, workspaceId],
  );
  const set = (name: keyof typeof search, value: string) =>
    void navigate({
      to: '/w/$workspaceId/usage',
      params: { workspaceId },
      search: { ...search, [name]: value === '' ? undefined : value },
      replace: true,
    });
  return (
    <Page title={u.usage} actions={mayExport && <ExportUsage span={span} />}>
      <Filters label={u.filters}>
        <Choice
          label={u.groupBy}
          value={by}
          options={groupings.map((id) => ({ id, label: u.groups[id] }))}
          onChange={(value) => set('group_by', value)}
        />
        <Choice
          label={u.here}
          value={isAll ? 'all' : 'this'}
          options={[
            { id: 'this', label: u.thisWorkspace },
            { id: 'all', label: u.allWorkspaces },
          ]}
          onChange={(value) => set('workspace', value === 'all' ? 'all' : '')}
        />
        <FormFields
          fields={[
            { kind: 'day', name: 'from', label: u.from },
            { kind: 'day', name: 'to', label: u.to },
          ]}
          values={{ from: search.from ?? dayText(new Date(span.from)), to: search.to ?? dayText(new Date(now)) }}
          errors={{}}
          onChange={(name, value) => set(name === 'from' ? 'from' : 'to', value)}
        />
      </Filters>
      <UsagePanel by={null} span={span} nameOf={nameOf} />
      <UsagePanel by={by} span={span} nameOf={nameOf} />
      {mayRecords && search.calls === undefined && (
        <div>
          <Button onPress={() => set('calls', 'shown')}>{u.recordsShow}</Button>
        </div>
      )}
      {mayRecords && search.calls !== undefined && <UsageRecords span={span} workspaceId={workspaceId} />}
    </Page>
  );
}
