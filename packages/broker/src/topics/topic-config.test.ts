import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import {
  applyConfigChanges,
  ConfigOperation,
  describeTopicConfig,
  type BrokerValues,
  type ConfigChange,
} from './topic-config.ts';
import { TopicError } from './topic-error.ts';

const { set, append, subtract } = ConfigOperation;
const nothing = new Map<string, string>();

function change(name: string, configOperation: number, value: string | null): ConfigChange {
  return { name, configOperation, value };
}

function refusal(changes: ConfigChange[]): { errorCode: number; message: string } {
  try {
    applyConfigChanges(nothing, changes, nothing);
  } catch (error) {
    expect(error).toBeInstanceOf(TopicError);
    return error as TopicError;
  }
  throw new Error('nothing was refused');
}

describe('applyConfigChanges', () => {
  it('sets and deletes', () => {
    const before = new Map([
      ['retention.ms', '1000'],
      ['segment.ms', '5'],
    ]);
    const after = applyConfigChanges(
      before,
      [change('retention.ms', set, '2000'), change('segment.ms', ConfigOperation.delete, null)],
      nothing,
    );
    expect([...after]).toEqual([['retention.ms', '2000']]);
    expect(before.get('retention.ms')).toBe('1000');
  });

  it('appends to and subtracts from a list as it is in effect', () => {
    const both = applyConfigChanges(
      nothing,
      [change('cleanup.policy', append, 'compact')],
      nothing,
    );
    expect(both.get('cleanup.policy')).toBe('delete,compact');
    const one = applyConfigChanges(both, [change('cleanup.policy', subtract, 'delete')], nothing);
    expect(one.get('cleanup.policy')).toBe('compact');
    const ofBroker = new Map([['log.cleanup.policy', 'compact']]);
    const own = applyConfigChanges(nothing, [change('cleanup.policy', append, 'delete')], ofBroker);
    expect(own.get('cleanup.policy')).toBe('compact,delete');
    const again = applyConfigChanges(one, [change('cleanup.policy', append, 'compact')], nothing);
    expect(again.get('cleanup.policy')).toBe('compact');
  });

  it.each([
    [[change('retention.ms', append, '5')], 'INVALID_CONFIG', /append is not allowed/],
    [[change('retenton.ms', set, '5')], 'INVALID_CONFIG', /did you mean retention\.ms/],
    [[change('retention.ms', set, 'soon')], 'INVALID_CONFIG', /retention\.ms/],
    [[change('retention.ms', set, null)], 'INVALID_REQUEST', /Null value/],
    [[change('retention.ms', 9, '5')], 'INVALID_REQUEST', /Unknown operation 9/],
    [
      [change('retention.ms', set, '5'), change('retention.ms', set, '6')],
      'INVALID_REQUEST',
      /duplicate/,
    ],
  ] as const)('refuses %j', (changes, errorName, message) => {
    const error = refusal([...changes]);
    expect(error.errorCode).toBe(errorCodes[errorName]);
    expect(error.message).toMatch(message);
  });
});

function atStart(given: ReadonlyMap<string, string>): BrokerValues {
  return {
    effective: given,
    layersOf: (name) => {
      const value = given.get(name);
      return value === undefined ? [] : [{ value, source: 4 }];
    },
  };
}

describe('describeTopicConfig', () => {
  const find = (configs: Map<string, string>, given: Map<string, string>, name: string): unknown =>
    describeTopicConfig(configs, atStart(given)).find((config) => config.name === name);

  it('names source and synonyms, strongest first', () => {
    expect(find(nothing, nothing, 'retention.ms')).toMatchObject({
      value: '604800000',
      configSource: 5,
      configType: 5,
      synonyms: [],
    });
    expect(find(nothing, nothing, 'retention.bytes')).toMatchObject({
      synonyms: [{ name: 'log.retention.bytes', value: '-1', source: 5 }],
    });
    expect(
      find(
        new Map([['retention.ms', '1']]),
        new Map([['log.retention.hours', '2']]),
        'retention.ms',
      ),
    ).toMatchObject({
      value: '1',
      configSource: 1,
      synonyms: [
        { name: 'retention.ms', value: '1', source: 1 },
        { name: 'log.retention.hours', value: '2', source: 4 },
      ],
    });
    expect(find(nothing, new Map([['log.retention.hours', '2']]), 'retention.ms')).toMatchObject({
      value: '7200000',
      configSource: 4,
    });
  });
});
