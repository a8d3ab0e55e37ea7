/* Checks of results: those that are wrong are printed with their line, and counted. */
#include <stdio.h>

static int wrong;

static void is(int line, long found, long wanted) {
    if (found == wanted) return;
    printf("line %d: %ld where %ld is right\n", line, found, wanted);
    ++wrong;
}

#define IS(found, wanted) is(__LINE__, (long)(found), (long)(wanted))
#define OK(call) IS(call, 0)
