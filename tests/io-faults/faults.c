/*
 * A layer below SQLite that makes calls of the file system fail: loaded by LD_PRELOAD, it counts
 * the calls on the files of a store, whose names contain ".sqlite".
 *
 *   FOREGLOW_IO_FAULT=KIND:FIRST:COUNT
 *
 * KIND is write, full, short, sync, read or cut. The calls from number FIRST on, COUNT of them,
 * fail: write, sync and read with EIO, full with ENOSPC, short after half of the bytes, and cut
 * when a file is truncated.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { NONE, WRITE, FULL, SHORT, SYNC, READ, CUT };

static const char *const NAMES[] = {"", "write", "full", "short", "sync", "read", "cut"};
static enum kind kind;
static unsigned long first, count;
static atomic_ulong calls;

__attribute__((constructor)) static void start(void) {
    char name[16] = "";
    const char *fault = getenv("FOREGLOW_IO_FAULT");
    if (fault == NULL || sscanf(fault, "%15[a-z]:%lu:%lu", name, &first, &count) != 3) return;
    for (enum kind each = WRITE; each <= CUT; each++)
        if (strcmp(name, NAMES[each]) == 0) kind = each;
}

static int is_of_store(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strstr(path, ".sqlite") != NULL;
}

/* Whether this call on a file fails. */
static int fails(int file) {
    int before = errno;
    int fails = 0;
    if (is_of_store(file)) {
        unsigned long number = atomic_fetch_add(&calls, 1) + 1;
        fails = number >= first && number - first < count;
    }
    errno = before;
    return fails;
}

static int is_write(void) { return kind == WRITE || kind == FULL || kind == SHORT; }

static ssize_t failed(int code) {
    errno = code;
    return -1;
}

/* The function of the C library. */
#define NEXT(name, type) \
    static __typeof__(type) *next; \
    if (next == NULL) next = (__typeof__(type) *)dlsym(RTLD_NEXT, name)

ssize_t write(int file, const void *bytes, size_t length) {
    NEXT("write", ssize_t(int, const void *, size_t));
    if (!is_write() || !fails(file)) return next(file, bytes, length);
    if (kind == SHORT) return next(file, bytes, length / 2);
    return failed(kind == FULL ? ENOSPC : EIO);
}

#define PWRITE(name) \
    ssize_t name(int file, const void *bytes, size_t length, off64_t place) { \
        NEXT(#name, ssize_t(int, const void *, size_t, off64_t)); \
        if (!is_write() || !fails(file)) return next(file, bytes, length, place); \
        if (kind == SHORT) return next(file, bytes, length / 2, place); \
        return failed(kind == FULL ? ENOSPC : EIO); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t read(int file, void *bytes, size_t length) {
    NEXT("read", ssize_t(int, void *, size_t));
    return kind == READ && fails(file) ? failed(EIO) : next(file, bytes, length);
}

#define PREAD(name) \
    ssize_t name(int file, void *bytes, size_t length, off64_t place) { \
        NEXT(#name, ssize_t(int, void *, size_t, off64_t)); \
        return kind == READ && fails(file) ? failed(EIO) : next(file, bytes, length, place); \
    }
PREAD(pread)
PREAD(pread64)

#define SYNC_CALL(name) \
    int name(int file) { \
        NEXT(#name, int(int)); \
        return kind == SYNC && fails(file) ? (int)failed(EIO) : next(file); \
    }
SYNC_CALL(fsync)
SYNC_CALL(fdatasync)

#define TRUNCATE(name) \
    int name(int file, off64_t length) { \
        NEXT(#name, int(int, off64_t)); \
        return kind == CUT && fails(file) ? (int)failed(EIO) : next(file, length); \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)
