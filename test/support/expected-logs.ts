export interface LogLine {
  readonly level: number;
  readonly msg?: string;
}

export const loudLines: LogLine[] = [];
export const expectedLoudLines: RegExp[] = [];

/** Says that this test provokes log lines above info whose message matches. */
export function expectLoudLogs(...messages: RegExp[]): void {
  expectedLoudLines.push(...messages);
}
