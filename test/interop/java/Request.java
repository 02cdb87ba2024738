package interop;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The fields of a request. */
record Request(JsonNode fields) {
    String text(String field) {
        if (!fields.hasNonNull(field)) throw new IllegalArgumentException("the request has no " + field);
        return fields.get(field).textValue();
    }

    String textOrNull(String field) {
        return fields.hasNonNull(field) ? fields.get(field).textValue() : null;
    }

    long number(String field, long otherwise) {
        return fields.hasNonNull(field) ? fields.get(field).longValue() : otherwise;
    }

    boolean has(String field) {
        return fields.hasNonNull(field);
    }

    List<Request> list(String field) {
        List<Request> elements = new ArrayList<>();
        if (has(field)) fields.get(field).forEach(element -> elements.add(new Request(element)));
        return elements;
    }

    List<String> texts(String field) {
        return list(field).stream().map(element -> element.fields.textValue()).toList();
    }

    Map<String, String> textsByName(String field) {
        Map<String, String> texts = new HashMap<>();
        if (has(field)) {
            fields.get(field).properties().forEach(entry -> texts.put(entry.getKey(), entry.getValue().asText()));
        }
        return texts;
    }

    /** Named "topic-0". */
    List<TopicPartition> partitions(String field) {
        return texts(field).stream().map(Request::partition).toList();
    }

    /** {"topic-0": 5} */
    Map<TopicPartition, Long> numbersByPartition(String field) {
        Map<TopicPartition, Long> numbers = new HashMap<>();
        fields.get(field).properties().forEach(entry -> numbers.put(partition(entry.getKey()), entry.getValue().longValue()));
        return numbers;
    }

    Map<TopicPartition, OffsetAndMetadata> offsets(String field) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        numbersByPartition(field).forEach((partition, offset) -> offsets.put(partition, new OffsetAndMetadata(offset, "by Java")));
        return offsets;
    }

    static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }
}
