/** Writes values straight into a batch. A record serde of the runtime is one. */
export interface ValueWriter<T> {
  /**
   * Writes `value` into `target` from `position` on and returns the end. Returns -1 when it does
   * not fit up to `target.length`: it is then called again with more room, or not at all.
   */
  write(value: T, target: Buffer, position: number): number;
}

/** The bytes as they are. */
export const bytesWriter: ValueWriter<Uint8Array> = {
  write(value, target, position) {
    if (value.length > target.length - position) return -1;
    target.set(value, position);
    return position + value.length;
  },
};
