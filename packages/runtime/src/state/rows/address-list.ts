const FIRST_LENGTH = 64;

/** A list of addresses, outside of V8's heap. */
export class AddressList {
  #addresses = new Int32Array(FIRST_LENGTH);
  length = 0;

  push(address: number): void {
    if (this.length === this.#addresses.length) {
      const larger = new Int32Array(2 * this.length);
      larger.set(this.#addresses);
      this.#addresses = larger;
    }
    this.#addresses[this.length++] = address;
  }

  at(index: number): number {
    return this.#addresses[index] as number;
  }
}
