import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, Navigate, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import {
  Button,
  Dialog,
  DialogTrigger,
  ListBox,
  ListBoxItem,
  Menu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  Select,
  SelectValue,
} from 'react-aria-components';
import { PendingCount } from '../approvals/pending-count.tsx';
import { t } from '../messages/en.ts';
import { isAtLeast, useMe } from './access.ts';
import { KeyHelp, useGoKeys } from './keys.tsx';
import { navigation } from './navigation.ts';
import { NotFound } from './not-found.tsx';
import { Palette } from './palette.tsx';
import { workspacesQuery } from './queries.ts';
import { session } from './session.ts';
import styles from './shell.module.css';
import { StandingBanner } from './standing-banner.tsx';

const lastKey = 'longhaul-workspace';

/** The workspace that was open last, else the first. */
export function Home() {
  const workspaces = useSuspenseQuery(workspacesQuery).data.items.filter((workspace) => workspace.is_active);
  const last = localStorage.getItem(lastKey);
  const workspace = workspaces.find(({ id }) => id === last) ?? workspaces[0];
  if (workspace === undefined)
    return (
      <Shell>
        <p>{t.faults.noWorkspace}</p>
      </Shell>
    );
  return <Navigate to="/w/$workspaceId/runs" params={{ workspaceId: workspace.id }} replace />;
}

/** What stands around every view: where one is, where one can go, and who one is. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const { workspaceId } = useParams({ strict: false });
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const isKnown = workspaceId === undefined || workspaces.some(({ id }) => id === workspaceId);
  useGoKeys(workspaceId);
  useEffect(() => {
    if (workspaceId !== undefined && isKnown) localStorage.setItem(lastKey, workspaceId);
  }, [workspaceId, isKnown]);

  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        {t.nav.skip}
      </a>
      <header className={styles.bar}>
        <NarrowNavigation workspaceId={workspaceId} />
        <Brand />
      </header>
      <aside className={styles.side}>
        <Brand />
        <Navigation workspaceId={workspaceId} />
      </aside>
      <main id="content" className={styles.content} tabIndex={-1}>
        <StandingBanner />
        {isKnown ? children : <NotFound />}
      </main>
      <KeyHelp />
      <Palette workspaceId={isKnown ? workspaceId : undefined} />
    </div>
  );
}

function Brand() {
  return (
    <Link to="/" className={styles.brand}>
      <img src="/console/icon.svg" alt="" width="20" height="20" />
      {t.product}
    </Link>
  );
}

/** Below the width of the side bar: the same, in a drawer. */
function NarrowNavigation({ workspaceId }: { readonly workspaceId: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button className="react-aria-Button quiet" aria-label={t.nav.open}>
        <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
          <path d="M2 4.5h14M2 9h14M2 13.5h14" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />
        </svg>
      </Button>
      <ModalOverlay isDismissable className={styles.overlay ?? ''}>
        <Modal className={styles.drawer ?? ''}>
          <Dialog aria-label={t.nav.label}>
            {/* a chosen link closes it */}
            <Navigation workspaceId={workspaceId} onChosen={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

interface NavigationProps {
  readonly workspaceId: string | undefined;
  readonly onChosen?: () => void;
}

function Navigation({ workspaceId, onChosen }: NavigationProps) {
  const { role } = useMe();
  const groups = navigation
    .map(({ title, links }) => ({ title, links: links.filter(({ floor }) => isAtLeast(role, floor)) }))
    .filter(({ links }) => links.length > 0);
  return (
    <>
      <WorkspaceSwitch workspaceId={workspaceId} />
      <nav aria-label={t.nav.label} className={styles.nav}>
        {workspaceId !== undefined &&
          groups.map(({ title, links }) => (
            <section key={title}>
              {groups.length > 1 && <h2 className={styles.group}>{title}</h2>}
              <ul>
                {links.map(({ to, label, countsQuestions }) => (
                  <li key={to}>
                    <Link to={to} params={{ workspaceId }} onClick={onChosen}>
                      {label}
                      {countsQuestions && <PendingCount workspaceId={workspaceId} />}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          ))}
      </nav>
      <Account workspaceId={workspaceId} />
    </>
  );
}

function WorkspaceSwitch({ workspaceId }: { readonly workspaceId: string | undefined }) {
  const navigate = useNavigate();
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const current = workspaces.find(({ id }) => id === workspaceId);
  if (workspaces.length < 2) return current ? <p className={styles.workspace}>{current.name}</p> : null;
  return (
    <Select
      aria-label={t.nav.workspace}
      value={workspaceId ?? null}
      onChange={(id) => void navigate({ to: '/w/$workspaceId/runs', params: { workspaceId: String(id) } })}
    >
      <Button>
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </Button>
      <Popover>
        <ListBox items={workspaces}>{({ id, name }) => <ListBoxItem id={id}>{name}</ListBoxItem>}</ListBox>
      </Popover>
    </Select>
  );
}

function Account({ workspaceId }: { readonly workspaceId: string | undefined }) {
  const { user, role } = useMe();
  const navigate = useNavigate();
  const email = user?.email ?? '';
  return (
    <MenuTrigger>
      <Button className={`react-aria-Button quiet ${styles.account}`}>
        <span className={styles.who}>
          <span>{user?.full_name ?? email}</span>
          <span className="hint">
            {role}
            <span className="hidden">, {t.nav.account}</span>
          </span>
        </span>
        <span aria-hidden="true">⋯</span>
      </Button>
      <Popover placement="top start">
        <Menu
          onAction={(key) => {
            if (key === 'sign-out') void session.signOut();
            if (key === 'account' && workspaceId !== undefined) void navigate({ to: '/w/$workspaceId/account', params: { workspaceId } });
            if (key === 'reference') window.open('/redoc', '_blank', 'noopener');
          }}
        >
          {workspaceId !== undefined && <MenuItem id="account">{t.nav.yourAccount}</MenuItem>}
          <MenuItem id="reference">{t.nav.reference}</MenuItem>
          <MenuItem id="sign-out">{t.nav.signOut}</MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
