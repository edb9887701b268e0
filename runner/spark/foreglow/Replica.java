package foreglow;

import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Parameters of an executor's CNN after a round, or their average, in the file format of {@code
 * runner/src/executor/training/state.rs}: a line of JSON, then little-endian 32-bit floats.
 */
final class Replica implements Serializable {
    private static final long serialVersionUID = 1;

    private final byte[] file;
    /** Offset of the numbers. */
    private final int start;

    private Replica(byte[] file, int start) {
        this.file = file;
        this.start = start;
    }

    /** Reads a file that an executor saved. */
    static Replica read(Path path) throws IOException {
        byte[] file = Files.readAllBytes(path);
        int start = 0;
        while (start < file.length && file[start] != '\n') {
            start++;
        }
        return new Replica(file, Math.min(start + 1, file.length));
    }

    void write(Path path) throws IOException {
        Files.write(path, file);
    }

    /**
     * Returns the mean, weighted by the images that each replica has learned, or {@code null} if
     * no replica has learned any. Summation in rank order and in single precision gives the same
     * numbers as connected executors.
     */
    static Replica average(List<Replica> replicas) {
        double images = 0;
        for (Replica replica : replicas) {
            images += replica.images();
        }
        if (images == 0) {
            return null;
        }
        Replica first = replicas.get(0);
        float[] sum = new float[first.numbers().remaining()];
        for (Replica replica : replicas) {
            float share = (float) (replica.images() / images);
            FloatBuffer numbers = replica.numbers();
            if (numbers.remaining() != sum.length) {
                throw new IllegalStateException("the executors returned replicas of different sizes");
            }
            for (int index = 0; index < sum.length; index++) {
                sum[index] += numbers.get(index) * share;
            }
        }
        Replica average = new Replica(Arrays.copyOf(first.file, first.file.length), first.start);
        average.numbers().put(sum);
        return average;
    }

    private long images() {
        Long images = ExecutorProcess.number(new String(file, 0, start, StandardCharsets.UTF_8), "images");
        if (images == null) {
            throw new IllegalStateException("an executor saved an invalid replica");
        }
        return images;
    }

    private FloatBuffer numbers() {
        return ByteBuffer.wrap(file, start, file.length - start).slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    }
}
