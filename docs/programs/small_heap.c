/* What a small heap keeps resident: 20 KB are alive, 640 objects of 32 bytes, and 100 MB of garbage of such are made. Prints the
   most memory that the process had (VmHWM) as JSON, which docs/results/check-counts reads:

       cc -O2 -Icrates/heapwood-c/include docs/programs/small_heap.c target/release/libheapwood.a -lpthread -ldl -lm */
#include <heapwood.h>
#include <stdio.h>

int main(void) {
    static void *alive[640];
    hw_heap *heap;
    hw_mutator *m;
    hw_error why;
    if (hw_heap_create(NULL, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_root_range(heap, alive, alive + 640, &why) == 0)
        return puts(why.text), 1;
    for (unsigned i = 0; i < 100000000 / 32; i++) {
        void *object = hw_alloc_bytes(m, 32);
        if (object == NULL) return puts(hw_last_error(m)->text), 1;
        if (i < 640) alive[i] = object;
    }
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1) break;
    if (kib == 0) return puts("/proc/self/status has no VmHWM"), 1;
    printf("{\"max_rss_bytes\": %ld}\n", kib << 10);
    return 0;
}
