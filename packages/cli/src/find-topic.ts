import type { ClusterAdmin, ClusterTopic } from '@millrace/runtime/cluster';
import { CommandError } from './errors.ts';
import { NAMES_LISTED } from './limits.ts';
import { didYouMean } from './nearest.ts';

/** @throws CommandError `TOPIC_UNKNOWN` that names the nearest one */
export async function findTopic(cluster: ClusterAdmin, topic: string): Promise<ClusterTopic> {
  return (await findTopics(cluster, [topic]))[0] as ClusterTopic;
}

/** In the order of the names. @throws CommandError `TOPIC_UNKNOWN` that names all that are missing */
export async function findTopics(
  cluster: ClusterAdmin,
  names: readonly string[],
): Promise<ClusterTopic[]> {
  const found = await cluster.topics.describe(names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) throw await unknownTopics(cluster, missing);
  return names.map((name) => found.get(name) as ClusterTopic);
}

async function unknownTopics(
  cluster: ClusterAdmin,
  missing: readonly string[],
): Promise<CommandError> {
  const known = (await cluster.topics.list()).map(({ topic }) => topic);
  const lines = missing.map((name) => {
    const hint = didYouMean(name, known);
    return `There is no topic ${name}.${hint === '' ? listed(known) : hint}`;
  });
  return new CommandError('TOPIC_UNKNOWN', lines.join('\n'));
}

function listed(known: readonly string[]): string {
  const own = known.filter((name) => !name.startsWith('__'));
  if (own.length === 0) return ' There is none at all; make one with `millrace topics create`.';
  if (own.length > NAMES_LISTED) return ' See `millrace topics list`.';
  return ` There are: ${own.join(', ')}.`;
}
