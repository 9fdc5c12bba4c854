/** What forms say that merge, and dialogs that show something once. */
export const formTexts = {
  merged: 'Somebody else has changed this meanwhile. Their changes and yours are merged below: look at them, and save again.',
  conflict: 'Somebody else has changed this meanwhile. What both of you have changed is yours to choose; the rest is merged.',
  opened: 'As opened',
  now: 'Now',
  mine: 'Yours',
  takeNow: 'Take what is there now',
  keepMine: 'Keep yours',
  nothing: '(empty)',
  once: 'This is shown once and kept nowhere. Copy it now.',
  copy: 'Copy',
  copied: 'Copied.',
  done: 'I have it',
};
