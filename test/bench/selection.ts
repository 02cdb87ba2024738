/**
 * Which rows the words of a command line mean, by suite. A suite's name means all of its rows; words
 * after it, each a part of its rows' names, narrow them (`streams window rekey persistent`). The name of
 * a row, or its beginning, means that row or those rows. No word: everything.
 *
 * @throws Error naming a word that means nothing, and what there is
 */
export function selectRows(
  words: readonly string[],
  suites: ReadonlyMap<string, readonly string[]>,
): Map<string, readonly string[]> {
  if (words.length === 0) return new Map(suites);
  const chosen = new Map<string, Set<string>>();
  const choose = (suite: string, rows: readonly string[]): void => {
    const known = chosen.get(suite) ?? new Set();
    for (const row of rows) known.add(row);
    chosen.set(suite, known);
  };

  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    const rows = suites.get(word);
    if (rows !== undefined) {
      const parts: string[] = [];
      while (isPart(words[i + 1], rows)) parts.push(words[++i] as string);
      choose(word, narrow(rows, parts));
      continue;
    }
    let isKnown = false;
    for (const [suite, all] of suites) {
      const beginning = all.filter((row) => row.startsWith(word));
      if (beginning.length === 0) continue;
      isKnown = true;
      choose(suite, beginning);
    }
    if (!isKnown) {
      const names = [...suites.values()].flat();
      throw new Error(`no benchmark ${word}; there are:\n${names.join('\n')}`);
    }
  }
  return inOrder(chosen, suites);
}

/** In the order in which the suites have them: rows that share their preparations follow each other. */
function inOrder(
  chosen: ReadonlyMap<string, ReadonlySet<string>>,
  suites: ReadonlyMap<string, readonly string[]>,
): Map<string, readonly string[]> {
  const ordered = new Map<string, readonly string[]>();
  for (const [suite, rows] of suites) {
    const wanted = chosen.get(suite);
    if (wanted !== undefined) {
      ordered.set(
        suite,
        rows.filter((row) => wanted.has(row)),
      );
    }
  }
  return ordered;
}

function partsOf(row: string): string[] {
  return row.split('/').slice(1);
}

function isPart(word: string | undefined, rows: readonly string[]): boolean {
  return word !== undefined && rows.some((row) => partsOf(row).includes(word));
}

/** Words for the same place in the name are alternatives, words for different places must all hold. */
function narrow(rows: readonly string[], parts: readonly string[]): readonly string[] {
  const wanted = new Map<number, Set<string>>();
  for (const part of parts) {
    for (const row of rows) {
      const place = partsOf(row).indexOf(part);
      if (place < 0) continue;
      const known = wanted.get(place) ?? new Set();
      wanted.set(place, known.add(part));
      break;
    }
  }
  return rows.filter((row) => {
    const own = partsOf(row);
    return [...wanted].every(([place, names]) => names.has(own[place] ?? ''));
  });
}
