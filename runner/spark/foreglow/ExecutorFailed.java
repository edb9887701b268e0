package foreglow;

import java.io.IOException;

/** The executor's process failed: its report, or how it ended and its last words, on one line. */
final class ExecutorFailed extends IOException {
    private static final long serialVersionUID = 1;

    ExecutorFailed(String message) {
        super(message);
    }

    /** Whether the process said so itself. */
    boolean isReport() {
        return getMessage().startsWith("{");
    }
}
