import { useEffect, useState } from 'react';

const pauseMs = 1_000;

/** True until a second after the control has appeared, the window regained the focus or a key was let go: a key meant for something earlier grants nothing. */
export function usePause(): boolean {
  const [isHeldBack, setHeldBack] = useState(true);
  useEffect(() => {
    const held = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const holdBack = () => {
      setHeldBack(true);
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (held.size === 0) setHeldBack(false);
      }, pauseMs);
    };
    const down = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      // A repeat of a held key presses nothing.
      if (event.repeat) {
        event.preventDefault();
        held.add(event.key);
        holdBack();
      }
    };
    const up = (event: KeyboardEvent) => {
      if (!held.delete(event.key)) return;
      holdBack();
    };
    const refocused = () => {
      held.clear();
      holdBack();
    };
    holdBack();
    addEventListener('keydown', down, true);
    addEventListener('keyup', up, true);
    addEventListener('focus', refocused);
    return () => {
      clearTimeout(timer);
      removeEventListener('keydown', down, true);
      removeEventListener('keyup', up, true);
      removeEventListener('focus', refocused);
    };
  }, []);
  return isHeldBack;
}
