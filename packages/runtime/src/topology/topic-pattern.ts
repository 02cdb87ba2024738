/** Whether a topic's whole name matches, as in Kafka; the pattern's flags count, but it keeps no place. */
export function matchesTopic(pattern: RegExp, topic: string): boolean {
  const flags = pattern.flags.replace(/[gy]/g, '');
  return new RegExp(`^(?:${pattern.source})$`, flags).test(topic);
}

/** Equal for patterns that are written alike. */
export function patternKey(pattern: RegExp): string {
  return `${pattern.source}/${pattern.flags}`;
}
