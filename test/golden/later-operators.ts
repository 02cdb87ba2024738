import type { GoldenCase, JsonObject, Operation } from './case.ts';

type Kind = 'stream' | 'table' | 'globalTable' | 'group';

/**
 * The operators of a case that the DSL is still to get. Only for their sake may a case be skipped, and
 * only what its operations say decides: never its name, its config or whether it passes.
 */
export function laterOperators(golden: GoldenCase): ReadonlySet<string> {
  const later = new Set<string>();
  const kinds = new Map<string, Kind>();
  for (const n of golden.topology) {
    const operator = laterOperator(n, kinds);
    if (operator !== null) later.add(operator);
    if (n.id !== undefined) kinds.set(n.id, kindOf(n, kinds));
    if (n.op === 'split') {
      for (const index of (n['branches'] as readonly JsonObject[]).keys()) {
        kinds.set(`${String(n.id)}.${String(index)}`, 'stream');
      }
      kinds.set(`${String(n.id)}.default`, 'stream');
    }
  }
  return later;
}

function laterOperator(n: Operation, kinds: ReadonlyMap<string, Kind>): string | null {
  switch (n.op) {
    case 'cogroup':
      return 'cogroup';
    case 'windowedBy': {
      const type = (n['window'] as JsonObject)['type'] as string;
      if (type !== 'time') return `${type} windows`;
      return n['emit'] === 'onWindowClose' ? 'emit on window close' : null;
    }
    case 'join':
    case 'leftJoin':
    case 'outerJoin':
      if (n['foreignKey'] !== undefined) return 'foreign-key join';
      return kinds.get(n.of as string) === 'stream' && kinds.get(n['with'] as string) === 'stream'
        ? 'stream-stream join'
        : null;
    default:
      return null;
  }
}

function kindOf(n: Operation, kinds: ReadonlyMap<string, Kind>): Kind {
  switch (n.op) {
    case 'table':
    case 'toTable':
    case 'count':
    case 'reduce':
    case 'aggregate':
      return 'table';
    case 'globalTable':
      return 'globalTable';
    case 'toStream':
      return 'stream';
    case 'groupByKey':
    case 'groupBy':
    case 'windowedBy':
    case 'cogroup':
      return 'group';
    default:
      return kinds.get(String(n.of)) ?? 'stream';
  }
}
