import { useRef, useState } from 'react';
import { ApiError } from '@longhaul/client';
import { isUnreachable } from '../app/problem.ts';

/** One write at a time, each of which happens once. */
export interface Intent<Content> {
  /** Sends what somebody wants; while it is under way, nothing else. False: it failed, and `error` says why. */
  readonly send: (content: Content) => Promise<boolean>;
  readonly isBusy: boolean;
  /** Why the last try failed; null: it did not. */
  readonly error: unknown;
  /** What is being sent, so that its button alone shows it; null: nothing. */
  readonly sending: Content | null;
}

/**
 * What somebody wants done, under one Idempotency-Key: the same content again, after a lost answer, carries the same key and is done once. Other content, or
 * the same once the API has answered, is another intent: refusals are kept under their key, so an old key would bring the old refusal.
 */
export function useIntent<Content>(
  write: (content: Content, options: { readonly idempotencyKey: string }) => Promise<unknown>,
): Intent<Content> {
  const intent = useRef<{ readonly text: string; readonly key: string } | null>(null);
  const isUnderWay = useRef(false);
  const [sending, setSending] = useState<Content | null>(null);
  const [error, setError] = useState<unknown>(null);

  const send = async (content: Content) => {
    if (isUnderWay.current) return false;
    const text = JSON.stringify(content) ?? '';
    if (intent.current?.text !== text) intent.current = { text, key: crypto.randomUUID() };
    isUnderWay.current = true;
    setSending(content);
    setError(null);
    try {
      await write(content, { idempotencyKey: intent.current.key });
      intent.current = null;
      return true;
    } catch (thrown) {
      if (isRefusal(thrown)) intent.current = null;
      setError(thrown);
      return false;
    } finally {
      isUnderWay.current = false;
      setSending(null);
    }
  };
  return { send, isBusy: sending !== null, error, sending };
}

/** Whether the API has answered, and would answer the same again. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && !isUnreachable(error) && !error.retryable;
}
