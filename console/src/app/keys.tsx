import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { t } from '../messages/en.ts';
import styles from './keys.module.css';

/** Whether a single key belongs to what has the focus: a field, a list, an open dialog. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return true;
  const target = event.target instanceof Element ? event.target : null;
  return (
    target?.closest(
      'input, textarea, select, [contenteditable], [role="listbox"], [role="menu"], [role="dialog"], [role="alertdialog"]',
    ) !== null
  );
}

/** Runs what belongs to a single key, unless somebody types. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions);
  useEffect(() => {
    current.current = actions;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = isTaken(event) ? undefined : current.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

const sequenceMs = 1_200;

/** `g` and a letter go to a view. */
export function useGoKeys(workspaceId: string | undefined): void {
  const navigate = useNavigate();
  const begunAt = useRef(0);
  const go = (work: (id: string) => void) => () => {
    const isSecond = Date.now() - begunAt.current < sequenceMs;
    begunAt.current = 0;
    if (isSecond && workspaceId !== undefined) work(workspaceId);
  };
  useKeys({
    g: () => (begunAt.current = Date.now()),
    u: go((id) => void navigate({ to: '/w/$workspaceId/runs', params: { workspaceId: id } })),
    p: go((id) => void navigate({ to: '/w/$workspaceId/playground', params: { workspaceId: id } })),
    i: go((id) => void navigate({ to: '/w/$workspaceId/approvals', params: { workspaceId: id } })),
  });
}

const everywhere: readonly (readonly [string, string])[] = [
  ['g u', t.keys.goRuns],
  ['g i', t.keys.goApprovals],
  ['g p', t.keys.goPlayground],
  ['Ctrl-K', t.keys.palette],
  ['?', t.keys.help],
  ['Esc', t.keys.escape],
];
const inApprovals: readonly (readonly [string, string])[] = [
  ['j', t.keys.next],
  ['k', t.keys.previous],
  ['a', t.keys.approve],
  ['r', t.keys.reject],
  ['e', t.keys.edit],
  ['x', t.keys.select],
  ['Shift+A', t.keys.approveSelected],
];

/** The list that `?` opens. */
export function KeyHelp() {
  const [isOpen, setOpen] = useState(false);
  useKeys({ '?': () => setOpen(true) });
  return (
    <ModalOverlay isDismissable isOpen={isOpen} onOpenChange={setOpen}>
      <Modal>
        <Dialog>
          <Heading slot="title" level={2}>
            {t.keys.title}
          </Heading>
          <KeyList title={t.keys.everywhere} keys={everywhere} />
          <KeyList title={t.keys.inApprovals} keys={inApprovals} />
          <p className="hint">{t.keys.note}</p>
          <Button slot="close">{t.actions.close}</Button>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function KeyList({ title, keys }: { readonly title: string; readonly keys: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className={styles.keys}>
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
