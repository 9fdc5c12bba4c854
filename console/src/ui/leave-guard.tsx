import { useBlocker } from '@tanstack/react-router';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { formTexts } from './form-messages.ts';

/** Asks before what has been typed is left behind: on another view in a dialog of ours, on another page in one of the browser. */
export function LeaveGuard({ isDirty, onDiscard }: { readonly isDirty: boolean; readonly onDiscard: () => void }) {
  const blocker = useBlocker({
    // Filters and tabs of the same view change the address, and leave nothing behind.
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  });
  const isBlocked = blocker.status === 'blocked';
  const leave = () => {
    onDiscard();
    blocker.proceed?.();
  };
  return (
    <ModalOverlay isOpen={isBlocked} onOpenChange={(isOpen) => !isOpen && blocker.reset?.()}>
      <Modal>
        <Dialog role="alertdialog">
          <Heading slot="title" level={2}>
            {formTexts.leaveTitle}
          </Heading>
          <p>{formTexts.leaveText}</p>
          <div className="actions">
            <Button className="react-aria-Button primary" autoFocus onPress={() => blocker.reset?.()}>
              {formTexts.stay}
            </Button>
            <Button className="react-aria-Button danger" onPress={leave}>
              {formTexts.leave}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
