import { useEffect, useState } from 'react';

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const sameDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const otherDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });

/** A moment in the reader's zone; the title has it in full, and in UTC. */
export function Time({ at }: { readonly at: string }) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(useNow(false)).toDateString();
  return (
    <time dateTime={at} title={`${full.format(date)} · ${at}`}>
      {(isToday ? sameDay : otherDay).format(date)}
    </time>
  );
}

/** How long something took, or takes until now. */
export function Duration({ from, to }: { readonly from: string; readonly to: string | null }) {
  const now = useNow(to === null);
  return <span>{formatDuration((to === null ? now : Date.parse(to)) - Date.parse(from))}</span>;
}

/** How long until a moment. */
export function Countdown({ to }: { readonly to: string }) {
  const now = useNow(true);
  return <span title={full.format(new Date(to))}>{formatDuration(Math.max(0, Date.parse(to) - now))}</span>;
}

/** The time, once a second while somebody looks. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(Date.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

export function formatDuration(ms: number): string {
  if (ms < 0) return '0 s';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
