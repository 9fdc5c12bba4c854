import type { Logger as TemporalLogger, LogLevel, LogMetadata } from '@temporalio/worker';
import type { Level, Logger } from 'pino';

const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const satisfies Record<LogLevel, Level>;

/** The SDK's message when it could not finish a workflow task: a bug, or a change that old histories do not allow. */
const taskFailure = /failing workflow task|failed to process workflow activation/i;

/**
 * Writes the SDK's messages to our log. A failing workflow task is an alert: `onTaskFailure` is called, and it is logged as an error whatever the SDK's level.
 * Messages that an activity failed are omitted, since our own interceptor logs them better.
 */
export function runtimeLogger(log: Logger, onTaskFailure: () => void): TemporalLogger {
  const child = log.child({ part: 'temporal' });
  const write = (level: LogLevel, message: string, meta: LogMetadata = {}): void => {
    if (message === 'Activity failed') return;
    const isAlert = taskFailure.test(message);

    if (isAlert) onTaskFailure();
    else if (!child.isLevelEnabled(levels[level])) return;
    child[isAlert ? 'error' : levels[level]](fieldsOf(meta), message);
  };

  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}

function fieldsOf({ error, ...meta }: LogMetadata): Record<string, unknown> {
  return error instanceof Error ? { ...meta, err: error } : { ...meta, ...(error === undefined ? {} : { error }) };
}
