import { describe, expect, it } from 'vitest';
import { internalTopicKind, sortInternalTopics } from './internal-topics.ts';

const topic = (name: string) => ({ topic: name, topicId: null, isInternal: false, partitions: [] });

describe('internal topics of an application', () => {
  it.each([
    ['app-counts-changelog', 'changelog'],
    ['app-by-word-repartition', 'repartition'],
    ['app-orders-subscription-registration-topic', 'subscription'],
    ['app-orders-subscription-response-topic', 'subscription'],
    ['app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007-topic', 'subscription'],
    ['app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic', 'subscription'],
    ['app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-x-topic', null],
    ['app-changelogs', null],
    ['app-counts-changelog-copy', null],
    ['application-counts-changelog', null],
    ['counts-changelog', null],
    ['app', null],
  ])('%s is %s', (name, kind) => {
    expect(internalTopicKind('app', name)).toBe(kind);
  });

  it('are not those of an application with a longer id', () => {
    const names = ['app-counts-changelog', 'app-eu-counts-changelog', 'app-eus-counts-changelog'];
    const { own, doubtful } = sortInternalTopics('app', names.map(topic), ['app', 'app-eu', 'b']);
    expect(own.map((each) => each.topic.topic)).toEqual([names[0], names[2]]);
    expect([...doubtful].map(([name, { groupId }]) => [name, groupId])).toEqual([
      [names[1], 'app-eu'],
    ]);
  });
});
