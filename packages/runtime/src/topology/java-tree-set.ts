/**
 * A set sorted by a comparator that may change its mind later, as the one that orders the nodes of a
 * topology description does while they are still being connected. What such a set iterates then
 * depends on the shape of the tree, so the tree is Java's: red-black, with its balancing steps.
 */
interface TreeNode<T> {
  readonly value: T;
  left: TreeNode<T> | null;
  right: TreeNode<T> | null;
  parent: TreeNode<T> | null;
  isRed: boolean;
}

export class JavaTreeSet<T> {
  readonly #compare: (a: T, b: T) => number;
  #root: TreeNode<T> | null = null;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  add(value: T): void {
    let parent: TreeNode<T> | null = null;
    let at = this.#root;
    let order = 0;
    while (at !== null) {
      parent = at;
      order = this.#compare(value, at.value);
      if (order === 0) return;
      at = order < 0 ? at.left : at.right;
    }
    const added: TreeNode<T> = { value, left: null, right: null, parent, isRed: true };
    if (parent === null) this.#root = added;
    else if (order < 0) parent.left = added;
    else parent.right = added;
    this.#rebalance(added);
  }

  values(): T[] {
    const values: T[] = [];
    const walk = (node: TreeNode<T> | null): void => {
      if (node === null) return;
      walk(node.left);
      values.push(node.value);
      walk(node.right);
    };
    walk(this.#root);
    return values;
  }

  #rebalance(added: TreeNode<T>): void {
    let node = added;
    while (node.parent?.isRed === true) {
      let parent = node.parent;
      // A red node is never the root, so a red parent has a parent.
      const grandparent = parent.parent as TreeNode<T>;
      const parentIsLeft = grandparent.left === parent;
      const uncle = parentIsLeft ? grandparent.right : grandparent.left;
      if (uncle?.isRed === true) {
        parent.isRed = false;
        uncle.isRed = false;
        grandparent.isRed = true;
        node = grandparent;
        continue;
      }
      if (node === (parentIsLeft ? parent.right : parent.left)) {
        this.#rotate(parent, parentIsLeft);
        [node, parent] = [parent, node];
      }
      parent.isRed = false;
      grandparent.isRed = true;
      this.#rotate(grandparent, !parentIsLeft);
    }
    if (this.#root !== null) this.#root.isRed = false;
  }

  #rotate(node: TreeNode<T>, toLeft: boolean): void {
    const up = (toLeft ? node.right : node.left) as TreeNode<T>;
    const moved = toLeft ? up.left : up.right;
    if (toLeft) node.right = moved;
    else node.left = moved;
    if (moved !== null) moved.parent = node;
    up.parent = node.parent;
    if (node.parent === null) this.#root = up;
    else if (node.parent.left === node) node.parent.left = up;
    else node.parent.right = up;
    if (toLeft) up.left = node;
    else up.right = node;
    node.parent = up;
  }
}
