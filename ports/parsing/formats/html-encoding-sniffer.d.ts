/** The package has no types of its own: this declares what we use of it. */
declare module 'html-encoding-sniffer' {
  interface SniffOptions {
    readonly xml?: boolean;
    /** From Content-Type. */
    readonly transportLayerEncodingLabel?: string;
    /** Returned when nothing determines the encoding. */
    readonly defaultEncoding?: string;
    /** Only for HTML. */
    readonly maxPrescanBytes?: number;
  }

  /** Returns the name of an encoding, as WHATWG Encoding spells it. */
  export default function sniffEncoding(bytes: Uint8Array, options: SniffOptions): string;
}
