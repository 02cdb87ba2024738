import type { Log } from '@millrace/compaction';
import type { Topic } from './topic.ts';

/** One partition of a topic and its log. */
export class Partition {
  readonly topic: Topic;
  readonly index: number;
  readonly log: Log;

  constructor(topic: Topic, index: number, log: Log) {
    this.topic = topic;
    this.index = index;
    this.log = log;
  }
}
