/** The protocol type of Kafka's consumers; their metadata can be read for the topics they want. */
export const CONSUMER_PROTOCOL_TYPE = 'consumer';
