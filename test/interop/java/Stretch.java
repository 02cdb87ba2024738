package interop;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends numbered records, "0" "1" ..., until it is told to stop: something to do while a broker is killed. */
final class Stretch {
    private static final long PAUSE_MS = 1;
    /** Records that are sent between two pauses. */
    private static final int RECORDS = 5;

    private final KafkaProducer<String, String> producer;
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger acknowledged = new AtomicInteger();
    private final Thread thread;
    private volatile boolean isOver;
    private int sent;

    Stretch(KafkaProducer<String, String> producer, Request request) {
        this.producer = producer;
        String topic = request.text("topic");
        thread = new Thread(() -> run(topic), "stretch");
        thread.start();
    }

    private void run(String topic) {
        try {
            while (!isOver) {
                for (int i = 0; i < RECORDS; i++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, String.valueOf(sent++)), (metadata, error) -> {
                        if (error == null) acknowledged.incrementAndGet();
                        else failures.add(error.toString());
                    });
                }
                Thread.sleep(PAUSE_MS);
            }
        } catch (Exception thrown) {
            failures.add(thrown.toString());
        }
    }

    int acknowledged() {
        return acknowledged.get();
    }

    /** Waits until all that was sent is acknowledged. */
    Map<String, Object> end() throws Exception {
        isOver = true;
        thread.join();
        producer.flush();
        return Map.of("sent", sent, "failures", failures);
    }
}
