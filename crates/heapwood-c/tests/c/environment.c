/* Options and the variable HEAPWOOD: prints the options after hw_options_env, and makes a heap with them. The
 * library reports unusable parts of the variable on standard error, which the caller reads. */
#include "check.h"
#include <heapwood.h>
#include <inttypes.h>
#include <string.h>

int main(void) {
    hw_options o;
    hw_error why;
    hw_heap *heap = NULL;
    hw_options_init(&o);
    o.percent = 70;
    o.min_heap = 1 << 20;
    CHECK(hw_options_env(&o, &why) == HW_OK && why.status == HW_OK && why.text[0] == '\0' && o.size == sizeof o);
    printf("min_heap %" PRIu64 " limit %" PRIu64 " percent %" PRIu32 " huge_pages %" PRIu32 " verify %" PRIu32
           " mark_stack %" PRIu32 " memory %" PRIu64 "\n",
           o.min_heap, o.limit, o.percent, o.huge_pages, o.verify, o.mark_stack, o.process_memory);
    CHECK(hw_heap_create(&o, &heap, &why) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);

    CHECK(hw_options_env(NULL, &why) == HW_EINVAL && strstr(why.text, "options is NULL") != NULL);
    o.size = 8;
    CHECK(hw_options_env(&o, &why) == HW_EINVAL && strstr(why.text, "hw_options_init") != NULL);
    hw_options_init(&o);
    o.percent = 0;
    CHECK(hw_options_env(&o, NULL) == HW_EINVAL && o.percent == 0);
    return 0;
}
