import { serdes, type RecordSerde } from '@millrace/runtime';
import type { Airport } from './airports.ts';
import type { Delays, DelaySums } from './delays.ts';
import type { Flight } from './flight.ts';

/** One window of the result: a day, in UTC. */
export const DAY_MS = 86_400_000;

// How keys and values look on the topics. JSON can be read by anyone and with any tool; the bytes of
// strings, numbers and windowed keys are those of Kafka's own serializers.
export const iataSerde = serdes.string();
export const stateSerde = serdes.string();
export const flightSerde = serdes.json<Flight>();
export const airportSerde = neverChanged(serdes.json<Airport>());
export const minutesSerde = serdes.integer();
export const delaySumsSerde = neverChanged(serdes.json<DelaySums>());
export const stateDaySerde = serdes.timeWindowed(stateSerde, DAY_MS);
export const delaysSerde = serdes.json<Delays>();

/**
 * A promise that no value is changed once it is made (the types say `readonly`, and the functions of
 * the topology make new objects). A store may then keep the object itself, and no copy of it.
 */
function neverChanged<T>(serde: RecordSerde<T>): RecordSerde<T> {
  return { ...serde, isImmutable: true };
}
