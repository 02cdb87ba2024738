const SHOWN = 40;

export const findingKinds = ['lost', 'duplicated', 'out of order', 'wrong', 'broken'] as const;
/** `broken`: not the records, but the run: something ended, failed or took too long. */
export type FindingKind = (typeof findingKinds)[number];

/** What went wrong: the first of it in words, all of it counted. */
export class Findings {
  readonly shown: string[] = [];
  readonly #counts = new Map<FindingKind, number>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  count(kind: FindingKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  add(kind: FindingKind, what: string): void {
    this.#counts.set(kind, this.count(kind) + 1);
    if (this.shown.length < SHOWN) {
      this.shown.push(`${new Date().toISOString()} ${kind}: ${what}`);
    }
  }
}
