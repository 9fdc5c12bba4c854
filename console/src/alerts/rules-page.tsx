import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { workspacesQuery } from '../app/queries.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Notice } from '../ui/notice.tsx';
import { ListState, Page } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { Table } from '../ui/table.tsx';
import { AlertState } from './alert-state.tsx';
import { alertTexts as a } from './messages.ts';
import { alertRulesRoute } from './routes.ts';
import { AddRule, EditRule } from './rule-forms.tsx';

type Rule = Views['AlertRuleView'];

/** What is watched, and who is told. */
export function RulesPage() {
  const { workspaceId } = alertRulesRoute.useParams();
  const mayWrite = useMay('admin');
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const list = usePagedList<Rule>({
    queryKey: ['alert-rules'],
    fetchPage: (cursor, signal) => api.listAlertRules({ cursor, limit: 50 }, { signal }),
  });
  const nameOf = (id: string | null) =>
    id === null ? a.wholeOrganization : (workspaces.find((one) => one.id === id)?.name ?? `…${id.slice(-12)}`);
  return (
    <Page
      title={a.rules}
      actions={
        <>
          {mayWrite && <AddRule workspaceId={workspaceId} />}
          <Link to="/w/$workspaceId/alerts" params={{ workspaceId }}>
            {a.toAlerts}
          </Link>
        </>
      }
    >
      {list.rows.length > 0 && <Table label={a.rules} columns={columnsFor(nameOf, mayWrite)} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} />
    </Page>
  );
}

function columnsFor(nameOf: (id: string | null) => string, mayWrite: boolean): Column<Rule>[] {
  const { rule } = a;
  const columns: Column<Rule>[] = [
    { id: 'name', title: rule.name, cell: ({ name }) => name },
    { id: 'state', title: rule.state, cell: ({ state, is_active }) => (is_active ? <AlertState state={state} /> : a.paused) },
    { id: 'kind', title: rule.kind, cell: ({ kind }) => a.kinds[kind] ?? kind },
    { id: 'condition', title: rule.condition, cell: ({ operator, threshold }) => `${a.operators[operator]} ${threshold}` },
    { id: 'scope', title: rule.scope, cell: ({ workspace_id }) => nameOf(workspace_id) },
  ];
  return mayWrite ? [...columns, { id: 'actions', title: rule.actions, cell: (row) => <RuleActions rule={row} /> }] : columns;
}

function RuleActions({ rule }: { readonly rule: Rule }) {
  const queries = useQueryClient();
  if (rule.managed) return <span className="hint">{a.managed}</span>;
  return (
    <div className="actions">
      <EditRule rule={rule} />
      <TestRule rule={rule} />
      <ActionDialog
        label={a.delete}
        title={a.deleteTitle}
        submit={a.deleteSubmit}
        tone="danger"
        content={{ rule_id: rule.id }}
        write={(content) => api.deleteAlertRule(content)}
        onDone={() => void queries.invalidateQueries({ queryKey: ['alert-rules'] })}
      >
        <p>{a.deleteText}</p>
      </ActionDialog>
    </div>
  );
}

function TestRule({ rule }: { readonly rule: Rule }) {
  const [results, setResults] = useState<Views['AlertTestView']['results']>([]);
  return (
    <>
      <ActionDialog
        label={a.test}
        title={a.testTitle}
        submit={a.testSubmit}
        content={{ rule_id: rule.id }}
        write={async (content, options) => setResults((await api.testAlertRule(content, options)).results)}
        onOpen={() => setResults([])}
      >
        <p>{a.testText}</p>
      </ActionDialog>
      {results.length > 0 && (
        <Notice
          tone={results.some(({ outcome }) => outcome === 'failed') ? 'warn' : 'plain'}
          text={a.testTitle.replace('?', '')}
          detail={results.map(({ target_index, kind, outcome, error }) => `${a.tested(target_index, kind, outcome)} ${error ?? ''}`)}
        />
      )}
    </>
  );
}
