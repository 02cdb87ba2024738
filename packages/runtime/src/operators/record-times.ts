/** Timestamps of the records that a node had since they were last looked at. */
export class RecordTimes {
  count = 0;
  sum = 0;
  min = Infinity;
  max = -Infinity;

  add(timestamp: number): void {
    this.count++;
    this.sum += timestamp;
    if (timestamp < this.min) this.min = timestamp;
    if (timestamp > this.max) this.max = timestamp;
  }

  forget(): void {
    this.count = 0;
    this.sum = 0;
    this.min = Infinity;
    this.max = -Infinity;
  }
}
