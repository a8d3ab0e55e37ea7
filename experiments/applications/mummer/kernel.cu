// Where short reads match a reference, after Rodinia's MUMmerGPU: one kernel walks the suffix tree of the reference with each
// read, another walks from where the matches end through the tree and reports. Bases are 0 to 3.
#include "../cuda.h"

#define FETCHED_AT_ONCE __attribute__((aligned(16)))

// Nodes by the base that follows, 0 where none does.
struct FETCHED_AT_ONCE Children {
    unsigned of[4];
};
struct FETCHED_AT_ONCE Head {
    unsigned place;   // where in the reference the bases of the node stand for the last time
    int depth;        // how many there are; place + depth is the end of the reference where a suffix ends
    unsigned parent;
    unsigned link;    // the node of its bases but the first, of nodes with children
};
// A node of the suffix tree stands for the bases on the way to it from the root, which is node 0.
struct Node {
    Children children;
    Head head;
};
// Where the walk with a part of a read ends.
struct FETCHED_AT_ONCE Match {
    unsigned node;    // on the way to which it ends,
    unsigned above;   // the node before,
    unsigned place;   // the last place of the reference where the part stands,
    int bases;        // and how many bases match
};

// The matches of each part of a read that has `shortest` bases or more. A thread takes a read.
extern "C" __global__ void match(const Node *nodes, const unsigned char *reference, const unsigned char *reads,
                                 Match *matches, int count, int length, int shortest) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= count) return;
    reads += read * length;
    matches += read * (length - shortest + 1);
    unsigned node = 0, above = 0, link = 0;
    Head head = nodes[0].head;
    int matched = 0;
    for (int first = 0; first <= length - shortest; first++) {
        if (matched > 0) {
            // All but the first base match here too: down from the link of the node above, without comparing.
            matched--;
            above = 0;
            node = link;
            head = nodes[node].head;
            while (head.depth < matched) {
                above = node;
                link = head.link;
                node = nodes[node].children.of[reads[first + head.depth]];
                head = nodes[node].head;
            }
        }
        for (;;) {
            // Along the bases before the node, then to one of its children.
            const int end = min(head.depth, length - first);
            while (matched < end && reference[head.place + matched] == reads[first + matched]) matched++;
            if (matched < head.depth || first + matched == length) break;
            const unsigned child = nodes[node].children.of[reads[first + matched]];
            if (child == 0) break;
            above = node;
            link = head.link;
            node = child;
            head = nodes[node].head;
            matched++;
        }
        const Match found = {node, above, head.place, matched};
        matches[first] = found;
    }
}

// At how many places of the reference the bases of a node stand: at those of the suffixes that end below it. A walk without
// a stack, which comes back from a child by way of its parent.
static __device__ unsigned places(const Node *nodes, unsigned top, int bases) {
    unsigned node = top, from = 0, found = 0;
    for (;;) {
        const Children children = nodes[node].children;
        const Head head = nodes[node].head;
        unsigned next = 0;
        bool behind = from == 0;
        for (int base = 0; base < 4; base++) {
            if (behind && next == 0) next = children.of[base];
            if (children.of[base] == from) behind = true;
        }
        if (from == 0 && head.place + head.depth == bases) found++;
        if (next != 0) {
            node = next;
            from = 0;
        } else if (node == top) {
            return found;
        } else {
            from = node;
            node = head.parent;
        }
    }
}

// At how many places the first `shortest` bases of a read's parts stand, in all; and the longest match of a part, bases * 2^24
// + place. A thread takes a read.
extern "C" __global__ void report(const Node *nodes, const Match *matches, unsigned *reports, int count, int length,
                                  int shortest, int bases) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= count) return;
    const int parts = length - shortest + 1;
    matches += read * parts;
    unsigned found = 0, longest = 0;
    for (int part = 0; part < parts; part++) {
        const Match match = matches[part];
        if (match.bases < shortest) continue;
        if (match.bases > longest >> 24) longest = match.bases << 24 | match.place;
        // Up to the node on the way to which the shortest match ends: all below it begins with that.
        unsigned node = match.node, above = match.above;
        for (Head head = nodes[above].head; head.depth >= shortest; head = nodes[above].head) {
            node = above;
            above = head.parent;
        }
        found += places(nodes, node, bases);
    }
    reports[2 * read] = found;
    reports[2 * read + 1] = longest;
}
