/* Mistakes of programs that verify mode names, or hints at, while the program does nothing for it: the argument names one. Most end the
 * process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <heapwood.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

struct node {
    struct node *left, *right;
    uint64_t value, pad;
};

static hw_heap *heap, *other;
static hw_mutator *m, *in_other;
static hw_type type;
/* Registered roots. */
static struct node *kept[4];
/* No root. */
static struct node *forgotten;

static hw_mutator *new_heap(hw_heap **out, hw_type *node) {
    static const uint64_t both = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    hw_options options;
    hw_mutator *mutator;
    hw_options_init(&options);
    hw_options_env(&options, NULL);
    options.verify = 1;
    options.conservative_stacks = 0;
    CHECK(hw_heap_create(&options, out, NULL) == HW_OK && hw_attach(*out, NULL, &mutator, NULL) == HW_OK);
    CHECK(hw_type_mask(*out, sizeof(struct node), &both, 1, node, NULL) == HW_OK);
    CHECK(hw_type_name(*out, *node, "node", NULL) == HW_OK);
    return mutator;
}

static struct node *made(void) {
    struct node *node = hw_alloc(m, type);
    CHECK(node != NULL);
    return node;
}

static void collect(void) { CHECK(hw_collect(m) == HW_OK); }

/* A type whose mask has one of the two pointers. */
static void mask_without_a_field(void) {
    static const uint64_t one = HW_POINTER(struct node, left);
    hw_type half;
    CHECK(hw_type_mask(heap, sizeof(struct node), &one, 1, &half, NULL) == HW_OK);
    CHECK(hw_type_name(heap, half, "half", NULL) == HW_OK);
    kept[0] = hw_alloc(m, half);
    hw_write(m, kept[0], &kept[0]->right, made());
    collect();
}

/* A type that is said to have no pointers. */
static void no_mask(void) {
    hw_type none;
    CHECK(hw_type_no_pointers(heap, sizeof(struct node), &none, NULL) == HW_OK);
    CHECK(hw_type_name(heap, none, "none", NULL) == HW_OK);
    kept[0] = hw_alloc_zeroed(m, none);
    kept[0]->left = made();
    collect();
}

/* What no collection looks at leads to an object; the program goes on from there. */
static void object_that_is_no_root(void) {
    forgotten = made();
    forgotten->left = made();
    collect();
    printf("%llu\n", (unsigned long long)forgotten->left->value);
}

static void stale_pointer_in_a_slot(void) {
    forgotten = made();
    collect();
    kept[0]->left = forgotten;
    collect();
}

static void stale_root(void) {
    forgotten = made();
    collect();
    kept[1] = forgotten;
    collect();
}

static void root_of_what_was_freed(void) {
    CHECK(hw_free(m, kept[0]) == HW_OK);
    collect();
}

static void slot_of_what_was_freed(void) {
    hw_write(m, kept[0], &kept[0]->left, kept[1]);
    CHECK(hw_free(m, kept[1]) == HW_OK);
    kept[1] = NULL;
    collect();
}

static void store_into_what_was_freed(void) {
    struct node *freed = kept[0];
    CHECK(hw_free(m, freed) == HW_OK);
    kept[0] = NULL;
    hw_write(m, freed, &freed->left, kept[1]);
}

static void plain_store_into_what_was_freed(void) {
    struct node *freed = kept[0];
    CHECK(hw_free(m, freed) == HW_OK);
    kept[0] = NULL;
    freed->value = 7;
    collect();
    freed->value = 8;
    /* It is found when the memory leaves the quarantine. */
    for (int i = 0; i < 2000000; i++) made();
    collect();
}

/* A weak table that nothing leads to. */
static void stale_table(void) {
    void *table = hw_weak_table_new(m);
    CHECK(table != NULL);
    collect();
    CHECK(hw_weak_table_set(m, table, kept[0], NULL) == HW_EINVAL);
}

static void freed_twice(void) {
    struct node *freed = kept[0];
    kept[0] = NULL;
    CHECK(hw_free(m, freed) == HW_OK && hw_free(m, freed) == HW_EINVAL);
    puts(hw_last_error(m)->text);
    exit(0);
}

/* A larger array of pointers takes the place of a smaller one, by a plain store. */
static void grown_buffer(void) {
    struct node **buffer = hw_alloc_array(m, type, 8);
    CHECK(buffer != NULL);
    kept[0]->left = (struct node *)buffer;
    collect();
}

/* A plain store to one field, and a proper one to another of the same object. */
static void plain_store_beside_a_proper_one(void) {
    kept[0]->left = kept[1];
    hw_write(m, kept[0], &kept[0]->right, kept[1]);
    collect();
}

/* Beyond the object's end, over the pointers of the next one. */
static void overrun(void) {
    struct node *first = kept[0] < kept[1] ? kept[0] : kept[1], *next = kept[0] < kept[1] ? kept[1] : kept[0];
    hw_write(m, next, &next->left, kept[2]);
    collect();
    memset(first, 0x41, (size_t)((char *)next - (char *)first) + 8);
    collect();
}

static void __attribute__((noinline)) links_and_returns(void) {
    struct node *volatile slot[1] = {NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, (const void *)slot, 1);
}

/* Calls something so deep in the stack that a collection does not come there. */
static void __attribute__((noinline)) deep(void (*f)(void)) {
    volatile char room[1 << 17];
    room[0] = 1;
    f();
    room[sizeof room - 1] = room[0];
}

static void frame_of_a_function_that_has_returned(void) {
    deep(links_and_returns);
    collect();
}

static jmp_buf out;

static void __attribute__((noinline)) links_and_jumps(void) {
    struct node *volatile slot[1] = {NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, (const void *)slot, 1);
    longjmp(out, 1);
}

static void frame_that_longjmp_has_left(void) {
    if (setjmp(out) == 0) deep(links_and_jumps);
    collect();
}

static void frame_that_was_overwritten(void) {
    static hw_frame frame;
    hw_frame_push(m, &frame, NULL, 0);
    memset(&frame, 0x41, sizeof frame);
    collect();
}

static void unreadable_range(void) {
    CHECK(hw_root_range(heap, (void *)0x1000, (void *)0x2000, NULL) != 0);
    collect();
}

/* Memory that was readable when it was registered. */
static void unmapped_slots(void) {
    void *slots = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(slots != MAP_FAILED && hw_root_slots(heap, slots, 1024, NULL) != 0);
    collect();
    CHECK(mprotect(slots, 8192, PROT_NONE) == 0);
    collect();
}

static void object_of_another_heap(void) {
    hw_write(in_other, kept[0], &kept[0]->left, NULL);
}

static void value_of_another_heap(void) {
    hw_type theirs;
    hw_mutator *mutator = new_heap(&other, &theirs);
    hw_write(m, kept[0], &kept[0]->left, hw_alloc(mutator, theirs));
    hw_write(m, kept[0], &kept[0]->right, hw_alloc(mutator, theirs));
    collect();
}

static void object_after_its_heap(void) {
    struct node *theirs = hw_alloc(in_other, type);
    CHECK(hw_detach(in_other) == HW_OK && hw_heap_destroy(other, NULL) == HW_OK);
    printf("%llu\n", (unsigned long long)theirs->value);
}

static int reports;
static void take(const char *text) { reports += strstr(text, "without the write barrier") != NULL; }

static void three_plain_stores(void) {
    hw_on_report(take);
    for (int i = 1; i < 4; i++) {
        kept[0]->left = kept[i];
        collect();
    }
    CHECK(reports == 3);
    hw_on_report(NULL);
    kept[0]->left = NULL;
    collect();
    CHECK(reports == 3);
}

#define MISTAKE(name) {#name, name}
static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    MISTAKE(mask_without_a_field),
    MISTAKE(no_mask),
    MISTAKE(object_that_is_no_root),
    MISTAKE(stale_pointer_in_a_slot),
    MISTAKE(stale_root),
    MISTAKE(root_of_what_was_freed),
    MISTAKE(slot_of_what_was_freed),
    MISTAKE(store_into_what_was_freed),
    MISTAKE(plain_store_into_what_was_freed),
    MISTAKE(stale_table),
    MISTAKE(freed_twice),
    MISTAKE(grown_buffer),
    MISTAKE(plain_store_beside_a_proper_one),
    MISTAKE(overrun),
    MISTAKE(frame_of_a_function_that_has_returned),
    MISTAKE(frame_that_longjmp_has_left),
    MISTAKE(frame_that_was_overwritten),
    MISTAKE(unreadable_range),
    MISTAKE(unmapped_slots),
    MISTAKE(object_of_another_heap),
    MISTAKE(value_of_another_heap),
    MISTAKE(object_after_its_heap),
    MISTAKE(three_plain_stores),
};

int main(int argc, char **argv) {
    hw_type theirs;
    m = new_heap(&heap, &type);
    in_other = new_heap(&other, &theirs);
    CHECK(theirs == type);
    CHECK(hw_root_slots(heap, kept, 4, NULL) != 0);
    for (int i = 0; i < 4; i++) kept[i] = made();
    collect();
    for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof *mistakes; i++)
        if (!strcmp(mistakes[i].name, argv[1])) {
            mistakes[i].make();
            CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
            return 0;
        }
    return 2;
}
