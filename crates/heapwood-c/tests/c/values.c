/* Tagged values: a NaN box, low tags and plain addresses in every sort of slot; numbers that look like anything; what is refused. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

#define HIGH UINT64_C(0xffff000000000000)
#define BOX UINT64_C(0xfffc000000000000)

typedef uint64_t value;

static hw_heap *heap_of(uint32_t tagged_stacks, uint32_t verify) {
    hw_options options;
    hw_heap *heap;
    hw_options_init(&options);
    options.address_space = (uint64_t)1 << 30;
    options.conservative_stacks = tagged_stacks;
    options.tagged_stacks = tagged_stacks;
    options.generational = HW_GENERATIONAL_ALWAYS;
    options.verify = verify;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_heap_tag(heap, (hw_tag){HIGH, BOX}, NULL) == HW_OK);
    CHECK(hw_heap_tag(heap, (hw_tag){HIGH | 7, 1}, NULL) == HW_OK);
    return heap;
}

static value boxed(const void *object) { return BOX | (uintptr_t)object; }
static value low(const void *object) { return (uintptr_t)object | 1; }

/* The word that leads to a hidden object: as it is, boxed, or under low bits. */
static value in_form(int form, value hidden) {
    const void *object = (const void *)(uintptr_t)~hidden;
    return form == 0 ? ~hidden : form == 1 ? boxed(object) : low(object);
}

static void refused(hw_heap *heap, uint64_t mask, uint64_t pattern, hw_status status, const char *words) {
    hw_error why;
    CHECK(hw_heap_tag(heap, (hw_tag){mask, pattern}, &why) == status);
    CHECK(why.status == status && strstr(why.text, words));
}

static void refusals(void) {
    hw_heap *heap = heap_of(0, 0), *plain;
    hw_error why;
    hw_type type;
    CHECK(hw_heap_tag(NULL, (hw_tag){7, 3}, &why) == HW_EINVAL && strstr(why.text, "heap is NULL"));
    refused(heap, 0, 0, HW_EINVAL, "the tag's mask is 0");
    refused(heap, 0x10, 0, HW_EINVAL, "bits 4 to 46");
    refused(heap, UINT64_C(1) << 46, 0, HW_EINVAL, "bits 4 to 46");
    refused(heap, 7, 9, HW_EINVAL, "bits outside the mask");
    refused(heap, HIGH, BOX, HW_EINVAL, "a word can have both");
    refused(heap, 1, 1, HW_EINVAL, "a word can have both");
    CHECK(hw_heap_tag(heap, (hw_tag){HIGH | 7, 2}, NULL) == HW_OK);
    CHECK(hw_heap_tag(heap, (hw_tag){HIGH | 7, 3}, NULL) == HW_OK);
    refused(heap, HIGH | 7, 4, HW_EFULL, "4 tags");
    /* A type of two words, of which every heap knows the layout. */
    CHECK(hw_type_mask(heap, 16, (uint64_t[]){3}, 1, &type, NULL) == HW_OK);
    refused(heap, HIGH | 7, 4, HW_ESTATE, "before the first type");
    CHECK(hw_type_describe(heap, "{word val [3]val}", NULL, &type, NULL) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);

    CHECK(hw_heap_create(NULL, &plain, NULL) == HW_OK);
    CHECK(hw_type_describe(plain, "{word val}", NULL, &type, &why) == HW_EDESC && strstr(why.text, "hw_heap_tag"));
    CHECK(hw_type_describe(plain, "{word value}", NULL, &type, &why) == HW_EDESC && strstr(why.text, "byte 6"));
    CHECK(hw_heap_destroy(plain, NULL) == HW_OK);
}

static bool lives(hw_mutator *m, value hidden) { return hw_base(m, (void *)(uintptr_t)~hidden, NULL) != NULL; }

/* A new leaf that nothing leads to yet, hidden from scanned stacks. */
static value leaf(hw_mutator *m, hw_type type) { return ~(value)(uintptr_t)hw_alloc(m, type); }

static void trace_second(void *object, size_t size, hw_tracer *tracer) {
    (void)size;
    hw_visit(tracer, (value *)object + 1);
}

/* Each sort of slot keeps what it leads to under each tag, through young and full collections, and lets go of it. */
static void slots(uint32_t verify) {
    hw_heap *heap = heap_of(0, verify);
    hw_mutator *m;
    hw_type two, large, traced, one;
    size_t size;
    value root[2] = {0, 0}, local[2] = {0, 0};
    hw_frame frame;
    hw_stats stats;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, 32, (uint64_t[]){2}, 1, &two, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "{word val [7000]{val word}}", &size, &large, NULL) == HW_OK && size == 8 * 14002);
    CHECK(hw_type_trace(heap, 48, trace_second, &traced, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, 8, (uint64_t[]){1}, 1, &one, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, root, 2, NULL) != 0);
    hw_frame_push(m, &frame, local, 2);
    for (int form = 0; form < 3; form++) {
        value hidden = leaf(m, two);
        value word = in_form(form, hidden);
        /* A root, a frame. */
        root[0] = word;
        CHECK(hw_collect_young(m) == HW_OK && lives(m, hidden));
        CHECK(hw_collect(m) == HW_OK && lives(m, hidden));
        local[1] = root[0], root[0] = 0;
        CHECK(hw_collect(m) == HW_OK && lives(m, hidden));
        local[1] = 0;
        CHECK(hw_collect(m) == HW_OK && !lives(m, hidden));
        /* Old objects of each layout get pointers to young ones. */
        for (int layout = 0; layout < 4; layout++) {
            value *object = layout == 3 ? hw_alloc_array(m, one, 9)
                                        : hw_alloc(m, layout == 0 ? two : layout == 1 ? large : traced);
            root[1] = boxed(object);
            CHECK(hw_collect(m) == HW_OK);
            hidden = leaf(m, two);
            word = in_form(form, hidden);
            hw_write(m, object, &object[1], (void *)(uintptr_t)word);
            CHECK(object[1] == word);
            CHECK(hw_collect_young(m) == HW_OK && lives(m, hidden));
            CHECK(hw_collect(m) == HW_OK && lives(m, hidden));
            CHECK(hw_cas(m, object, &object[1], (void *)(uintptr_t)word, NULL));
            CHECK(hw_collect(m) == HW_OK && !lives(m, hidden));
            /* By a copy. */
            hidden = leaf(m, two);
            word = in_form(form, hidden);
            hw_copy(m, object, &object[1], &word, 1);
            CHECK(hw_collect_young(m) == HW_OK && lives(m, hidden));
            CHECK(hw_collect(m) == HW_OK && lives(m, hidden));
            root[1] = 0, object = NULL;
            word = 0;
            CHECK(hw_collect(m) == HW_OK && !lives(m, hidden));
        }
    }
    /* Handles are plain. */
    value kept = leaf(m, two);
    CHECK(hw_handle_new(m, (void *)(uintptr_t)boxed((void *)(uintptr_t)~kept)) == NULL);
    CHECK(strstr(hw_last_error(m)->text, "is not the address of an object"));
    void **handle = hw_handle_new(m, (void *)(uintptr_t)~kept);
    CHECK(hw_collect(m) == HW_OK && lives(m, kept) && hw_handle_free(m, handle) == HW_OK);
    stats.size = sizeof stats;
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.barrier_violations == 0);
    CHECK(!verify || stats.verified == stats.collections);
    hw_frame_pop(m, &frame);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* Any word that is no pointer is a number: also one that lies in the heap, and in verify mode. */
static void numbers(uint32_t verify) {
    hw_heap *heap = heap_of(0, verify);
    hw_mutator *m;
    hw_type array;
    value root[1];
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "[64]val", NULL, &array, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, root, 1, NULL) != 0);
    value *words = hw_alloc(m, array), hidden = leaf(m, array);
    root[0] = boxed(words);
    CHECK(hw_collect(m) == HW_OK && !lives(m, hidden));
    hidden = leaf(m, array);
    for (int i = 0; i < 64; i++) {
        /* The inside of an object, its first byte with other low bits, and free memory far behind it. */
        value step = (value)i;
        value number = ~hidden + (i < 16 ? 8 + 8 * step : i < 32 ? 2 + 2 * (step % 3) : (step << 16) + 8);
        hw_write(m, words, &words[i], (void *)(uintptr_t)number);
    }
    CHECK(hw_collect_young(m) == HW_OK && !lives(m, hidden));
    for (int i = 0; i < 64; i++) {
        double d = 1.0 / (i + 1);
        memcpy(&words[i], &d, sizeof d);
    }
    words[3] = UINT64_MAX, words[4] = 1, words[5] = 5, words[6] = HIGH, words[7] = BOX, words[8] = BOX | 8;
    CHECK(hw_collect(m) == HW_OK && hw_collect_young(m) == HW_OK);
    CHECK(hw_base(m, words, NULL) == words && words[3] == UINT64_MAX);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* Ranges and stacks are looked through for tags if the option says so. */
static void ranges(void) {
    for (uint32_t on = 0; on < 2; on++) {
        hw_heap *heap = heap_of(on, 0);
        hw_mutator *m;
        hw_type type;
        value words[3] = {0, 0, 0};
        CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
        CHECK(hw_type_mask(heap, 32, (uint64_t[]){2}, 1, &type, NULL) == HW_OK);
        CHECK(hw_root_range(heap, words, words + 3, NULL) != 0);
        value hidden = leaf(m, type);
        words[1] = boxed((void *)(uintptr_t)~hidden);
        CHECK(hw_collect(m) == HW_OK && lives(m, hidden) == (on == 1));
        CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    }
}

int main(void) {
    refusals();
    slots(0);
    slots(1);
    numbers(0);
    numbers(1);
    ranges();
    return 0;
}
