/** What a client of the soak says on standard output, one line each: words between spaces. */
export interface SoakLine {
  /** `acked SEQUENCE`: so far all is written. `read PARTITION FIRST LAST`: offsets. `done`. */
  readonly word: 'acked' | 'read' | 'done';
  readonly numbers: readonly number[];
}

export function parseLine(line: string): SoakLine | null {
  const [word, ...rest] = line.split(' ');
  if (word !== 'acked' && word !== 'read' && word !== 'done') return null;
  return { word, numbers: rest.map(Number) };
}

/** What is in a record: who wrote it, in which of its lives, and its place in what this one writes. */
export interface SoakRecord {
  readonly writer: number;
  readonly life: number;
  readonly sequence: number;
}

export function encodeRecord({ writer, life, sequence }: SoakRecord): string {
  return `${writer}:${life}:${sequence}`;
}

export function decodeRecord(text: string): SoakRecord {
  const [writer, life, sequence] = text.split(':').map(Number);
  return { writer: writer as number, life: life as number, sequence: sequence as number };
}
