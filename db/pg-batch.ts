import pg from 'pg';

/** A statement with its values as they are sent. */
export interface PreparedStatement {
  readonly sql: string;
  readonly values: readonly (string | Buffer | null)[];
  /** Under which PostgreSQL keeps its plan with the connection; undefined: it does not. */
  readonly name: string | undefined;
}

/** What a statement gave. */
export type Answer = Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>;

/** A statement of a batch; without `onAnswer` nobody reads what it gives. */
export interface BatchPart extends PreparedStatement {
  readonly onAnswer: ((answer: Answer) => void) | null;
}

/** What we use of the protocol's writer. */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  parse(message: { text: string; name?: string }): void;
  close(message: { type: 'S'; name: string }): void;
  bind(message: object): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
}

declare module 'pg' {
  // What the class has, and its types leave out.
  interface Query {
    queryMode: 'extended' | undefined;
    prepare(connection: Wire): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: unknown): void;
  }
}

/** Names that a failed batch may or may not have made known to the server, by connection. */
const unsureNames = new WeakMap<Wire, Set<string>>();

/**
 * Statements in one batch of the extended protocol (PostgreSQL's documentation, “Pipelining” in its chapter on the protocol): sent at once, ended by
 * one Sync. The first that fails takes all behind it along: then `onEnd` gets its fault and nothing is answered. Else each gets its answer, in
 * order, and `onEnd` null.
 */
export class Batch extends pg.Query {
  readonly parts: readonly BatchPart[];
  /** The part whose answer comes now. */
  #at = 0;
  #connection: Wire | null = null;
  /** Names that the server learns with it, and by which part. */
  readonly #taught = new Map<string, { readonly index: number; readonly text: string }>();

  constructor(parts: readonly BatchPart[], onEnd: (fault: Error | null) => void) {
    super(parts.at(-1)?.sql ?? '', [], (fault: Error | undefined, results: unknown) => {
      this.#confirm();
      if (fault) return onEnd(this.#named(fault));
      try {
        // pg's own results, of the parts that are read: one, or a list.
        this.#answer([results].flat() as Answer[]);
      } catch (error) {
        return onEnd(error instanceof Error ? error : new Error('an answer was not taken', { cause: error }));
      }
      onEnd(null);
    });
    this.queryMode = 'extended';
    this.parts = parts;
  }

  override prepare(connection: Wire): void {
    this.#connection = connection;
    for (const [index, part] of this.parts.entries()) {
      connection.bind({ statement: this.#parse(connection, part, index), values: part.values });
      if (part.onAnswer) connection.describe({ type: 'P', name: '' });
      connection.execute({});
    }
    connection.sync();
  }

  override handleDataRow(message: unknown): void {
    if (this.parts[this.#at]?.onAnswer) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.parts[this.#at]?.onAnswer) super.handleCommandComplete(message, connection);
    this.#at += 1;
  }

  /** Gives the name under which the server has the statement then; undefined: as the one without a name. */
  #parse(connection: Wire, { name, sql: text }: BatchPart, index: number): string | undefined {
    if (name === undefined) {
      connection.parse({ text });
      return undefined;
    }
    // No fault for a name that is not known.
    if (unsureNames.get(connection)?.delete(name)) connection.close({ type: 'S', name });
    if (!this.#taught.has(name) && connection.parsedStatements[name] === undefined) {
      connection.parse({ text, name });
      this.#taught.set(name, { index, text });
    }
    return name;
  }

  /** Names of the parts before a failed one are known for sure; its own may be, those behind it are not. */
  #confirm(): void {
    const connection = this.#connection;
    if (!connection) return;
    for (const [name, { index, text }] of this.#taught) {
      if (index < this.#at) connection.parsedStatements[name] = text;
      if (index === this.#at) unsureNames.set(connection, (unsureNames.get(connection) ?? new Set()).add(name));
    }
  }

  /** With the statement that failed, since the stack is that of one who asked for another. Never one with its values in the text. */
  #named(fault: Error): Error {
    const failed = this.parts[this.#at];
    return failed && failed.values.length > 0 ? Object.assign(fault, { statement: failed.sql.trim().slice(0, 120) }) : fault;
  }

  #answer(results: readonly Answer[]): void {
    const read = this.parts.flatMap(({ onAnswer }) => (onAnswer ? [onAnswer] : []));
    if (results.length !== read.length) throw new Error(`${read.length} statements gave ${results.length} answers`);
    for (const [index, onAnswer] of read.entries()) {
      const answer = results[index];
      if (answer) onAnswer(answer);
    }
  }
}
