import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, type ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { t as own } from './messages.ts';
import { runRoute } from './routes.ts';
import { parseRunTab, runTabs, type RunTab } from './run-tab.ts';
import styles from './run.module.css';

const RunSteps = lazy(() => import('./run-steps.tsx').then(({ RunSteps }) => ({ default: RunSteps })));
const RunMessages = lazy(() => import('./run-messages.tsx').then(({ RunMessages }) => ({ default: RunMessages })));
const RunTree = lazy(() => import('./run-tree.tsx').then(({ RunTree }) => ({ default: RunTree })));

interface RunTabsProps {
  readonly run: Views['RunView'];
  readonly workspaceId: string;
  readonly isLive: boolean;
  /** The conversation. */
  readonly children: ReactNode;
}

/** The parts of a run; the address says which one is open. */
export function RunTabs({ run, workspaceId, isLive, children }: RunTabsProps) {
  const { tab = 'conversation' } = runRoute.useSearch();
  const navigate = useNavigate();
  const open = (key: RunTab) =>
    void navigate({
      to: '/w/$workspaceId/runs/$runId',
      params: { workspaceId, runId: run.id },
      search: parseRunTab(key === 'conversation' ? {} : { tab: key }),
      replace: true,
    });
  const panels: Readonly<Record<RunTab, ReactNode>> = {
    conversation: children,
    steps: <RunSteps runId={run.id} workspaceId={workspaceId} isLive={isLive} />,
    messages: <RunMessages runId={run.id} workspaceId={workspaceId} isLive={isLive} />,
    tree: <RunTree run={run} workspaceId={workspaceId} />,
  };
  return (
    // The keys are those of the tabs.
    <Tabs selectedKey={tab} onSelectionChange={(key) => open(key as RunTab)}>
      <TabList aria-label={own.tabs.label}>
        {runTabs.map((id) => (
          <Tab key={id} id={id}>
            {own.tabs[id]}
          </Tab>
        ))}
      </TabList>
      {runTabs.map((id) => (
        <TabPanel key={id} id={id} className={`react-aria-TabPanel ${styles.panel}`}>
          <Suspense fallback={<p role="status">{t.list.loading}</p>}>{panels[id]}</Suspense>
        </TabPanel>
      ))}
    </Tabs>
  );
}
