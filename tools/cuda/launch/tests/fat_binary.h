/* The calls by which compilers have a program register its code, with PTX from a file in place of what they compile. */
#include <stdio.h>
#include <stdlib.h>

typedef struct { unsigned x, y, z; } dim3;
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);

static void **handle;

static void end(void) { __cudaUnregisterFatBinary(handle); }

/* Registers a fat binary: its header, the header of one entry, which is PTX for compute_50, and the text with zeros behind it. */
static void load(const char *name) {
    static char data[1 << 16];
    static struct { unsigned magic, version; const void *data; void *more; } wrapper = { 0x466243b1, 1, data, 0 };
    FILE *file = fopen(name, "rb");
    unsigned long long bytes = file ? fread(data + 80, 1, sizeof data - 96, file) : 0;
    if (!bytes) exit(8);
    fclose(file);
    bytes = (bytes + 8) / 8 * 8;
    *(unsigned *)data = 0xba55ed50;
    *(unsigned short *)(data + 4) = 1;
    *(unsigned short *)(data + 6) = 16;
    *(unsigned long long *)(data + 8) = 64 + bytes;
    *(unsigned short *)(data + 16) = 1;
    *(unsigned *)(data + 20) = 64;
    *(unsigned long long *)(data + 24) = bytes;
    *(unsigned *)(data + 44) = 50;
    handle = __cudaRegisterFatBinary(&wrapper);
    atexit(end);
}
