package interop;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;

/** One producer. */
final class Producing implements AutoCloseable {
    private final KafkaProducer<String, String> producer;
    private Stretch stretch;

    Producing(Properties settings) {
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    Object call(String method, Request request) throws Exception {
        switch (method) {
            case "initTransactions" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "send" -> {
                return send(request.list("records"));
            }
            case "startStretch" -> stretch = new Stretch(producer, request);
            case "acknowledged" -> {
                return stretch.acknowledged();
            }
            case "endStretch" -> {
                return stretch.end();
            }
            default -> throw new IllegalArgumentException("a producer does not " + method);
        }
        return null;
    }

    void sendOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, ConsumerGroupMetadata group) {
        producer.sendOffsetsToTransaction(offsets, group);
    }

    /** Sends all at once and waits for all; where each has come to, "topic-0@5". */
    private List<String> send(List<Request> records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (Request record : records) sent.add(producer.send(recordOf(record)));
        producer.flush();
        List<String> places = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            RecordMetadata metadata = one.get();
            places.add(metadata.topic() + "-" + metadata.partition() + "@" + metadata.offset());
        }
        return places;
    }

    private static ProducerRecord<String, String> recordOf(Request record) {
        Integer partition = record.has("partition") ? (int) record.number("partition", 0) : null;
        Long timestamp = record.has("timestamp") ? record.number("timestamp", 0) : null;
        ProducerRecord<String, String> made = new ProducerRecord<>(
            record.text("topic"), partition, timestamp, record.textOrNull("key"), record.textOrNull("value"));
        for (Request header : record.list("headers")) {
            String value = header.textOrNull("value");
            made.headers().add(header.text("name"), value == null ? null : value.getBytes(StandardCharsets.UTF_8));
        }
        return made;
    }

    @Override
    public void close() {
        producer.close(Clients.CLOSE_TIMEOUT);
    }
}
