import { join } from 'node:path';
import type { Disk } from '@millrace/compaction';
import { DurableFile } from '../durable-file.ts';
import { BrokerStartError } from '../errors.ts';

const FILE_NAME = 'topics.json';
const FILE_VERSION = 1;

/** What must be known of a topic before and besides its logs. */
export interface StoredTopic {
  readonly name: string;
  readonly topicId: string;
  readonly partitionCount: number;
  readonly configs: Readonly<Record<string, string>>;
}

/**
 * `<dataDir>/topics.json`: the topics with their ids, partition counts and configuration, and the ids
 * of topics whose deletion has been acknowledged but whose logs may still lie there. It is the truth:
 * a topic exists from the moment it is in this file. Kafka leaves a file of that name alone.
 */
export class TopicsFile {
  readonly topics = new Map<string, StoredTopic>();
  /** Ids of deleted topics until their directories are gone. */
  readonly deletedIds = new Set<string>();
  /** False on a directory that this broker has never written. */
  readonly wasThere: boolean;
  readonly #file: DurableFile;

  private constructor(disk: Disk, path: string, wasThere: boolean) {
    this.wasThere = wasThere;
    this.#file = new DurableFile(disk, path, () => this.#encode());
  }

  /** Throws BrokerStartError `BROKER_TOPICS_FILE_INVALID`. */
  static load(disk: Disk, dataDir: string): TopicsFile {
    const path = join(dataDir, FILE_NAME);
    if (disk.stat(path) === null) return new TopicsFile(disk, path, false);
    const file = new TopicsFile(disk, path, true);
    file.#decode(disk.readFile(path).toString('utf8'), path);
    return file;
  }

  /** What is set for the topic itself; empty for one that is not known. */
  configsOf(topic: string): ReadonlyMap<string, string> {
    return new Map(Object.entries(this.topics.get(topic)?.configs ?? {}));
  }

  /** Resolves when the present state is durable. */
  save(): Promise<void> {
    return this.#file.save();
  }

  #encode(): string {
    const content = {
      version: FILE_VERSION,
      topics: [...this.topics.values()],
      deletedIds: [...this.deletedIds],
    };
    return `${JSON.stringify(content, null, 1)}\n`;
  }

  #decode(text: string, path: string): void {
    const fail = (problem: string, cause?: unknown): never => {
      throw new BrokerStartError(
        'BROKER_TOPICS_FILE_INVALID',
        `${path}: ${problem}. It names the topics of this data directory; restore it from a copy, or move ` +
          'it away to have the topics found again from their directories with default configuration.',
        { cause },
      );
    };
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch (error) {
      return fail('is no JSON', error);
    }
    if (!isRecord(content)) return fail('holds no object');
    if (content['version'] !== FILE_VERSION) {
      return fail(`has version ${String(content['version'])}, this release reads ${FILE_VERSION}`);
    }
    const { topics, deletedIds } = content;
    if (!Array.isArray(topics) || !Array.isArray(deletedIds)) return fail('lacks its lists');
    for (const topic of topics as unknown[]) {
      if (!isStoredTopic(topic)) return fail(`has a malformed topic: ${JSON.stringify(topic)}`);
      this.topics.set(topic.name, topic);
    }
    for (const id of deletedIds as unknown[]) {
      if (typeof id !== 'string') return fail('has a malformed deleted id');
      this.deletedIds.add(id);
    }
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStoredTopic(value: unknown): value is StoredTopic {
  if (!isRecord(value)) return false;
  const { name, topicId, partitionCount, configs } = value;
  return (
    typeof name === 'string' &&
    typeof topicId === 'string' &&
    Number.isInteger(partitionCount) &&
    (partitionCount as number) > 0 &&
    isRecord(configs) &&
    Object.values(configs).every((config) => typeof config === 'string')
  );
}
