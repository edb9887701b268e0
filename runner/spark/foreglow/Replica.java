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
 * runner/executor/src/training/state.rs}: a line of JSON, little-endian 32-bit floats, and a
 * checksum of both.
 */
final class Replica implements Serializable {
    private static final long serialVersionUID = 1;
    /** Hexadecimal digits of the checksum: FNV-1a of 64 bits. */
    private static final int CHECKSUM = 16;
    private static final long BASIS = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;

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
        Replica replica = new Replica(file, Math.min(start + 1, file.length));
        if (file.length - replica.start < CHECKSUM || !Arrays.equals(replica.checksum(), replica.written())) {
            throw new IllegalStateException("an executor saved a damaged replica");
        }
        return replica;
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
        System.arraycopy(average.checksum(), 0, average.file, average.file.length - CHECKSUM, CHECKSUM);
        return average;
    }

    /** The checksum of the content. */
    private byte[] checksum() {
        long checksum = BASIS;
        for (int index = 0; index < file.length - CHECKSUM; index++) {
            checksum = (checksum ^ (file[index] & 0xff)) * PRIME;
        }
        return String.format("%016x", checksum).getBytes(StandardCharsets.US_ASCII);
    }

    /** The checksum in the file. */
    private byte[] written() {
        return Arrays.copyOfRange(file, file.length - CHECKSUM, file.length);
    }

    private long images() {
        Long images = ExecutorProcess.number(new String(file, 0, start, StandardCharsets.UTF_8), "images");
        if (images == null) {
            throw new IllegalStateException("an executor saved an invalid replica");
        }
        return images;
    }

    private FloatBuffer numbers() {
        return ByteBuffer.wrap(file, start, file.length - start - CHECKSUM).slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    }
}
