/** One flight, as it stands in the topic `flights` under the key of its origin. */
export interface Flight {
  /** Position in the file, from 0: what the loader resumes from. */
  readonly row: number;
  /** Scheduled departure, epoch ms; the file's times have no zone and are read as UTC. */
  readonly date: number;
  /** Minutes late; negative: early. */
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

/** A source of flights in time order, in chunks so that three million of them need no memory. */
export interface FlightSource {
  readonly rowCount: number;
  chunks(): AsyncIterable<readonly Flight[]>;
}
