import { useEffect, useState } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Search } from './palette-search.tsx';
import styles from './palette.module.css';

/** What Ctrl-K opens: views, objects and actions by their names. */
export function Palette({ workspaceId }: { readonly workspaceId: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <ModalOverlay isDismissable isOpen={isOpen} onOpenChange={setOpen}>
      <Modal className={`react-aria-Modal ${styles.modal}`}>
        <Dialog>
          <Heading slot="title" level={2} className="hidden">
            {t.palette.title}
          </Heading>
          <Search workspaceId={workspaceId} onDone={() => setOpen(false)} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
