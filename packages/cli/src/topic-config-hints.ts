import { checkSetting, logConfigDefinitions } from '@millrace/compaction';
import { BrokerError, type StreamsError } from '@millrace/runtime/cluster';
import { CommandError } from './errors.ts';
import { didYouMean } from './nearest.ts';

/**
 * The brokers decide what a topic's configuration may be. When they refuse it, Kafka names one
 * problem only; this lists all that can be seen from here.
 */
export function refusedConfigs(
  error: StreamsError,
  configs: ReadonlyMap<string, string | null>,
  known: ReadonlySet<string> = knownNames,
): CommandError {
  const options = { cause: error };
  const isAboutConfigs = error instanceof BrokerError && error.kafkaName === 'INVALID_CONFIG';
  if (!isAboutConfigs) return new CommandError('COMMAND_REFUSED', error.message, options);
  const problems: string[] = [];
  for (const [name, value] of configs) {
    const definition = logConfigDefinitions.find((each) => each.name === name);
    if (!known.has(name) && definition === undefined) {
      problems.push(`${name} is not known.${didYouMean(name, known)}`);
    } else if (definition !== undefined && value !== null) {
      const problem = checkSetting(definition, value);
      if (problem !== null) problems.push(problem);
    }
  }
  const text =
    problems.length === 0
      ? error.message
      : `Wrong configuration:\n${problems.map((problem) => `- ${problem}`).join('\n')}`;
  return new CommandError('CONFIG_INVALID', text, options);
}

const knownNames: ReadonlySet<string> = new Set(
  logConfigDefinitions.filter((each) => each.isInternal !== true).map(({ name }) => name),
);
