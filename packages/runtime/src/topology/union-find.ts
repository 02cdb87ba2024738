/** Sets of names that are united step by step. */
export class UnionFind {
  readonly #parent = new Map<string, string>();

  add(name: string): void {
    if (!this.#parent.has(name)) this.#parent.set(name, name);
  }

  root(name: string): string {
    let root = name;
    for (;;) {
      const parent = this.#parent.get(root) ?? root;
      if (parent === root) break;
      root = parent;
    }
    let at = name;
    while (at !== root) {
      const next = this.#parent.get(at) ?? root;
      this.#parent.set(at, root);
      at = next;
    }
    return root;
  }

  unite(a: string, b: string): void {
    const left = this.root(a);
    const right = this.root(b);
    if (left !== right) this.#parent.set(right, left);
  }
}
