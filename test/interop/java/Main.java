package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Kafka's Java clients by remote control: a request a line in, an answer a line out. A request names the
 * client's part and what to do ("producer.send"); the answer is {"result": ...} or {"failure": ...}.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Main() { }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Clients clients = new Clients(args[0])) {
            for (String line; (line = in.readLine()) != null; ) {
                out.println(JSON.writeValueAsString(answer(clients, JSON.readTree(line))));
                out.flush();
            }
        }
        // Threads of clients that cannot reach a broker any more are not waited for.
        System.exit(0);
    }

    private static Map<String, Object> answer(Clients clients, JsonNode request) {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            answer.put("result", clients.call(request.get("call").textValue(), new Request(request)));
        } catch (Exception thrown) {
            Throwable cause = thrown;
            while (cause.getCause() != null && (cause instanceof ExecutionException || cause instanceof CompletionException)) {
                cause = cause.getCause();
            }
            answer.put("failure", Map.of("name", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage())));
        }
        return answer;
    }
}
