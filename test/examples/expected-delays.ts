import { readAirports, type Flight, type FlightSource, type StateDay } from '@millrace/examples';

type Departure = Pick<Flight, 'date' | 'delay' | 'origin'>;

/** The figures of the flights example, straight from its input, with none of its topology's code. */
export function expectedDelays(flights: readonly Departure[]): StateDay[] {
  const states = new Map(readAirports().map(({ iata, state }) => [iata, state]));
  const sums = new Map<string, [flights: number, delaySum: number, lateFlights: number]>();
  for (const { date, delay, origin } of flights) {
    const state = states.get(origin);
    if (state === undefined) throw new Error(`airports.csv does not know ${origin}`);
    const key = `${state} ${new Date(date).toISOString().slice(0, 10)}`;
    const sum = sums.get(key) ?? [0, 0, 0];
    sums.set(key, [sum[0] + 1, sum[1] + delay, sum[2] + (delay > 15 ? 1 : 0)]);
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, [count, delaySum, lateFlights]]) => ({
      state: key.slice(0, -11),
      day: key.slice(-10),
      flights: count,
      delaySum,
      lateFlights,
      meanDelay: delaySum / count,
      lateShare: lateFlights / count,
    }));
}

export async function allFlights(source: FlightSource): Promise<Flight[]> {
  const flights: Flight[] = [];
  for await (const chunk of source.chunks()) for (const flight of chunk) flights.push(flight);
  return flights;
}
