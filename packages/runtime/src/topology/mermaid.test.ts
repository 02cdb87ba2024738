import { validate } from '@probelabs/maid';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { serdes } from '../serdes/serdes.ts';
import { TopologyDescription } from './describe.ts';

const text = serdes.string();

/**
 * What Mermaid would refuse. Only what the checker holds for an error counts; it also has opinions. It
 * does not know quoted text in a cylinder, which Mermaid does, so cylinders are put to it as boxes.
 */
function problems(mermaid: string): unknown[] {
  const boxes = mermaid.replaceAll(/\[\((".*")\)\]$/gm, '[$1]');
  return validate(boxes).errors.filter(({ severity }) => severity === 'error');
}

describe('toMermaid', () => {
  it('shows topics, nodes, stores and sub-topologies', () => {
    const builder = new StreamsBuilder();
    builder
      .stream('words', { key: text, value: text })
      .groupBy((_key, word) => word, { key: text, name: 'by-word' })
      .count({ store: 'counts' })
      .toStream()
      .to('word-counts', { value: serdes.long() });
    const mermaid = builder.build().describe().toMermaid();
    expect(mermaid).toBe(`flowchart TD
  topic0("words")
  topic1("by-word-repartition")
  topic2("word-counts")
  subgraph subtopology0["Sub-topology 0"]
    node0(["KSTREAM-SOURCE-0000000000"])
    node1["by-word"]
    node2["by-word-repartition-filter"]
    node3(["by-word-repartition-sink"])
  end
  subgraph subtopology1["Sub-topology 1"]
    node4(["by-word-repartition-source"])
    node5["KSTREAM-AGGREGATE-0000000002"]
    node6["KTABLE-TOSTREAM-0000000006"]
    node7(["KSTREAM-SINK-0000000007"])
    store0[("counts")]
  end
  topic0 --> node0
  node0 --> node1
  node1 --> node2
  node2 --> node3
  node3 --> topic1
  topic1 --> node4
  node4 --> node5
  node5 --- store0
  node5 --> node6
  node6 --> node7
  node7 --> topic2
`);
    expect(problems(mermaid)).toEqual([]);
  });

  it('takes any name', () => {
    const names = [
      'end',
      'a"b',
      'x;y',
      '<b>',
      '1. one',
      '- two',
      '`code`',
      '#35;',
      'größe 群',
      '%%{',
      'a\nb',
    ];
    const description = new TopologyDescription([
      {
        id: 0,
        isGlobal: true,
        nodes: names.map((name) => ({
          kind: 'processor',
          name,
          topics: [],
          pattern: null,
          topicExtractor: null,
          stores: [name],
          predecessors: [],
          successors: names,
        })),
      },
    ]);
    const mermaid = description.toMermaid();
    expect(problems(mermaid)).toEqual([]);
    expect(mermaid).toContain('["Sub-topology 0, global store"]');
    expect(mermaid).toContain('["a#34;b"]');
    expect(mermaid).toContain('["1#46; one"]');
    expect(mermaid).toContain('[("größe 群")]');
    expect(mermaid).toContain('["#35;35#59;"]');
  });

  it('names patterns, and functions that choose topics', () => {
    const builder = new StreamsBuilder();
    const byKey = (key: string): string => key;
    builder.stream(/^log-.*/, { key: text, value: text }).to(byKey);
    const mermaid = builder.build().describe().toMermaid();
    expect(mermaid).toContain('("topics like #94;log-.#42;")');
    expect(mermaid).toContain('("topics by byKey")');
    expect(problems(mermaid)).toEqual([]);
  });

  it('of nothing is a flowchart of nothing', () => {
    expect(new TopologyDescription([]).toMermaid()).toBe('flowchart TD\n');
  });

  it('would be noticed if it were none', () => {
    expect(problems('flowchart TD\n  node0["a"b"]\n')).not.toEqual([]);
    expect(problems('flowchart TD\n  subgraph x["y"]\n')).not.toEqual([]);
  });
});
