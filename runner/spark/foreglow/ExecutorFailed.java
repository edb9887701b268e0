package foreglow;

import java.io.IOException;

/**
 * Failure of the executor's process: its report, or its exit status and last output, on one line.
 */
final class ExecutorFailed extends IOException {
    private static final long serialVersionUID = 1;

    ExecutorFailed(String message) {
        super(message);
    }

    /** Returns whether the process reported the failure itself. */
    boolean isReport() {
        return getMessage().startsWith("{");
    }
}
