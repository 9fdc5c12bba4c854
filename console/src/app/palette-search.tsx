import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { linkOptions, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { Autocomplete, Collection, Header, Input, Label, Menu, MenuItem, MenuSection, SearchField } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Fault } from '../ui/notice.tsx';
import { isAtLeast, useMe } from './access.ts';
import { finders, isNamed, type Found } from './finders.ts';
import { navigation } from './navigation.ts';
import styles from './palette.module.css';
import { session } from './session.ts';

interface Command extends Omit<Found, 'link'> {
  readonly run: () => void;
}

interface Group {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Finds what is called as it was typed, and goes there. */
export function Search({ workspaceId, onDone }: { readonly workspaceId: string | undefined; readonly onDone: () => void }) {
  const [typed, setTyped] = useState('');
  const text = useDeferredValue(typed).trim();
  const { groups: places } = useCommands(workspaceId, text);
  const { groups: objects, error, isBusy } = useObjects(workspaceId, text);
  const groups = [...places, ...objects].filter(({ commands }) => commands.length > 0);
  const choose = (id: string) => {
    onDone();
    groups
      .flatMap(({ commands }) => commands)
      .find((command) => command.id === id)
      ?.run();
  };
  return (
    <Autocomplete inputValue={typed} onInputChange={setTyped}>
      <SearchField autoFocus className={`react-aria-SearchField ${styles.search}`}>
        <Label>{t.palette.search}</Label>
        <Input placeholder={t.palette.hint} />
      </SearchField>
      {error !== null && <Fault error={error} />}
      <Menu
        aria-label={t.palette.title}
        className={`react-aria-Menu ${styles.found}`}
        items={groups.map((group) => ({ ...group, id: group.title }))}
        onAction={(key) => choose(String(key))}
        renderEmptyState={() => <p className="hint">{isBusy ? t.list.loading : t.palette.nothing}</p>}
      >
        {(group) => (
          <MenuSection id={group.id}>
            <Header className={styles.group}>{group.title}</Header>
            <Collection items={group.commands}>
              {({ id, label, hint }) => (
                <MenuItem id={id} textValue={label}>
                  <span>{label}</span>
                  {hint !== '' && <span className="hint">{hint}</span>}
                </MenuItem>
              )}
            </Collection>
          </MenuSection>
        )}
      </Menu>
    </Autocomplete>
  );
}

/** Views and actions that the role has. */
function useCommands(workspaceId: string | undefined, text: string): { readonly groups: readonly Group[] } {
  const { role } = useMe();
  const navigate = useNavigate();
  const views = navigation.flatMap(({ title, links }) =>
    links
      .filter(({ floor }) => workspaceId !== undefined && isAtLeast(role, floor))
      .map(({ to, label }): Command => ({
        id: `view:${to}`,
        label,
        hint: title,
        run: () => void navigate(linkOptions({ to, params: { workspaceId: workspaceId ?? '' } })),
      })),
  );
  const actions: Command[] = [
    { id: 'act:reference', label: t.nav.reference, hint: '', run: () => void window.open('/redoc', '_blank', 'noopener') },
    { id: 'act:sign-out', label: t.nav.signOut, hint: '', run: () => void session.signOut() },
  ];
  const named = (commands: readonly Command[]) => commands.filter(({ label, hint }) => text === '' || isNamed(text, label, hint));
  return {
    groups: [
      { title: t.palette.views, commands: named(views) },
      { title: t.palette.actions, commands: named(actions) },
    ],
  };
}

/** Objects that are called what was typed. */
function useObjects(workspaceId: string | undefined, text: string) {
  const { role } = useMe();
  const navigate = useNavigate();
  const mine = finders.filter(({ floor }) => isAtLeast(role, floor));
  const results = useQueries({
    queries: mine.map(({ title, find }) => ({
      queryKey: ['palette', title, workspaceId, text],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => find({ text, workspaceId: workspaceId ?? '', signal }),
      enabled: workspaceId !== undefined && text.length > 1,
      placeholderData: keepPreviousData,
      staleTime: 10_000,
    })),
  });
  const groups = mine.map(({ title }, index): Group => ({
    title,
    commands: (text.length > 1 ? (results[index]?.data ?? []) : []).map(({ link, ...found }) => ({
      ...found,
      run: () => void navigate(link),
    })),
  }));
  return {
    groups,
    error: results.find((result) => result.error !== null)?.error ?? null,
    isBusy: results.some((result) => result.isFetching),
  };
}
