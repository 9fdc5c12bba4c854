/** One event of a stream. Comments, and blocks without data, are none. */
export interface ServerEvent {
  readonly data: string;
}

/** Takes an event stream apart (WHATWG HTML, Server-sent events). Blocks that the end cuts off are no events. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #pending = '';
  /** Up to here `pending` has no end of a line. */
  #searched = 0;
  #data: string[] = [];
  /** The last wait that the deployment named before a client comes back, in milliseconds. */
  retryMs: number | null = null;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): ServerEvent[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const events: ServerEvent[] = [];
    let start = 0;
    for (let end = this.#pending.indexOf('\n', this.#searched); end >= 0; end = this.#pending.indexOf('\n', start)) {
      const line = this.#pending.slice(start, this.#pending.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end);
      start = end + 1;
      const event = this.#line(line);
      if (event) events.push(event);
    }
    this.#pending = this.#pending.slice(start);
    this.#searched = this.#pending.length;
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === '') {
      const data = this.#data;
      this.#data = [];
      return data.length === 0 ? null : { data: data.join('\n') };
    }
    if (line.startsWith('data:')) this.#data.push(line.slice(line.charCodeAt(5) === 32 ? 6 : 5));
    else if (/^retry: ?\d+$/.test(line)) this.retryMs = Number(line.slice(6));
    return null;
  }
}
