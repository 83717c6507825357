/* Objects with variable tails: any number of elements, small ones inline, of each sort of header and element; what is refused. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

static int verify, values;

static hw_heap *new_heap(void) {
    hw_options options;
    hw_heap *heap;
    hw_options_init(&options);
    options.address_space = (uint64_t)1 << 30;
    options.conservative_stacks = 0;
    options.generational = HW_GENERATIONAL_ALWAYS;
    options.mask_words = 64;
    options.verify = (uint32_t)verify;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    if (values) CHECK(hw_heap_tag(heap, (hw_tag){UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48}, NULL) == HW_OK);
    return heap;
}

static void *word_of(void *object) {
    return values ? (void *)((uintptr_t)object | UINT64_C(0xfffc) << 48) : object;
}

static hw_type of(hw_heap *heap, const char *text) {
    hw_type type;
    CHECK(hw_type_describe(heap, text, NULL, &type, NULL) == HW_OK);
    return type;
}

/* Every slot of an object with n elements keeps a leaf, when it is young and when it is old, and no other word does. */
static void check(hw_mutator *m, const hw_tail *tail, const char *slots_of_header, const char *slots_of_element, size_t n,
                  hw_type leaf, void **root, uintptr_t *hidden) {
    size_t header = tail->header / 8, element = tail->element / 8, words = header + n * element, slots = 0;
    void **object = hw_alloc_tail(m, tail, n);
    CHECK(object && (uintptr_t)object % 16 == 0);
    *root = word_of(object);
    size_t size;
    CHECK(hw_base(m, object, &size) == object && size >= words * 8);
    /* Without a pointer the memory may hold anything. */
    int has_slots = strchr(slots_of_header, 'p') || (n && strchr(slots_of_element, 'p'));
    for (size_t i = 0; i < words; i++) CHECK(!has_slots || object[i] == NULL);
    for (int old = 0; old < 2; old++) {
        for (size_t i = 0; i < words; i++) {
            int is_slot = i < header ? slots_of_header[i] == 'p' : slots_of_element[(i - header) % element] == 'p';
            if (!is_slot) continue;
            /* Few of long ones, the first and the last always. */
            if (words > 600 && i > header + 2 * element && i + 2 * element < words && i % 97) continue;
            void *object_of_slot = hw_alloc(m, leaf);
            hidden[slots++] = ~(uintptr_t)object_of_slot;
            hw_write(m, object, &object[i], word_of(object_of_slot));
        }
        CHECK(hw_collect_young(m) == HW_OK);
        CHECK(old == 0 || hw_collect(m) == HW_OK);
        for (size_t i = 0; i < slots; i++) {
            /* Those of the first round were overwritten. */
            int lives = hw_base(m, (void *)~hidden[i], NULL) != NULL;
            CHECK(lives || (old == 1 && i < slots / 2));
        }
    }
    *root = NULL;
    CHECK(hw_collect(m) == HW_OK);
    for (size_t i = 0; i < slots; i++) CHECK(hw_base(m, (void *)~hidden[i], NULL) == NULL);
}

static uintptr_t hidden[100000];

static void lengths(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m;
    hw_tail tail;
    void *root = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, &root, 1, NULL) != 0);
    hw_type leaf = of(heap, "{word ptr}");
    static const struct { const char *header, *header_slots, *element, *element_slots; } all[] = {
        {"{ptr word}", "p-", "ptr", "p"},
        {"{word word ptr}", "--p", "{word ptr word}", "-p-"},
        {"word", "-", "{ptr ptr}", "pp"},
        {NULL, "", "{ptr word}", "p-"},
        {"{ptr}", "p", "[70]ptr", "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"},
        {"{ptr word}", "p-", "{word word}", "--"},
    };
    static const size_t n[] = {0, 1, 2, 3, 5, 9, 13, 30, 31, 40, 61, 62, 63, 64, 65, 100, 500, 4100, 9000};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hw_type header = all[i].header ? of(heap, all[i].header) : 0;
        CHECK(hw_type_tail(heap, header, of(heap, all[i].element), &tail, NULL) == HW_OK);
        for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
            size_t count = verify && n[k] > 4100 ? 4100 : n[k];
            /* Often enough for spans of their own. */
            int times = k < 12 && !verify ? 40 : 1;
            for (int time = 0; time < times; time++)
                check(m, &tail, all[i].header_slots, all[i].element_slots, count, leaf, &root, hidden);
        }
    }
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

/* Bytes behind a header with a pointer, as strings with a class; bytes alone; elements of words that may be pointers. */
static void bytes(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m;
    hw_tail string, plain, bag;
    hw_type one, words;
    void *root = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, &root, 1, NULL) != 0);
    CHECK(hw_type_no_pointers(heap, 1, &one, NULL) == HW_OK && hw_type_conservative(heap, 8, &words, NULL) == HW_OK);
    CHECK(hw_type_tail(heap, of(heap, "{ptr word}"), one, &string, NULL) == HW_OK);
    CHECK(hw_type_tail(heap, 0, one, &plain, NULL) == HW_OK && plain.few == 257 && plain.header == 0);
    CHECK(hw_type_tail(heap, of(heap, "{ptr word}"), words, &bag, NULL) == HW_OK);
    for (size_t n = 0; n < 100000; n = n * 3 / 2 + 1) {
        void **object = hw_alloc_tail(m, &string, n), *class = hw_alloc(m, of(heap, "{word ptr}"));
        uintptr_t seen = ~(uintptr_t)class;
        object[0] = word_of(class);
        class = NULL;
        root = word_of(object);
        memset(object + 2, 'x', n);
        CHECK(hw_collect_young(m) == HW_OK && hw_collect(m) == HW_OK);
        CHECK(hw_base(m, (void *)~seen, NULL) && memchr(object + 2, 0, n) == NULL);
        CHECK(hw_alloc_tail(m, &plain, n) != NULL);
        uintptr_t *others = hw_alloc_tail(m, &bag, n + 1);
        others[n + 2] = ~seen + 3;
        root = word_of(others);
        CHECK(hw_collect(m) == HW_OK && hw_base(m, (void *)~seen, NULL));
    }
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

static void trace(void *object, size_t size, hw_tracer *tracer) { (void)object, (void)size, (void)tracer; }

static void refusals(void) {
    hw_heap *heap = new_heap();
    hw_mutator *m;
    hw_tail tail = {0}, other;
    hw_type traced, odd, pointer = of(heap, "{ptr}");
    hw_error why;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_trace(heap, 16, trace, &traced, NULL) == HW_OK && hw_type_no_pointers(heap, 12, &odd, NULL) == HW_OK);
    CHECK(hw_type_tail(NULL, 0, pointer, &tail, &why) == HW_EINVAL && strstr(why.text, "heap is NULL"));
    CHECK(hw_type_tail(heap, 0, pointer, NULL, &why) == HW_EINVAL && strstr(why.text, "out is NULL"));
    CHECK(hw_type_tail(heap, 0, 0, &tail, &why) == HW_EINVAL && strstr(why.text, "not the number of a type"));
    CHECK(hw_type_tail(heap, 77, pointer, &tail, &why) == HW_EINVAL && strstr(why.text, "not the number of a type"));
    CHECK(hw_type_tail(heap, 0, traced, &tail, &why) == HW_EDESC && strstr(why.text, "trace function"));
    CHECK(hw_type_tail(heap, traced, pointer, &tail, &why) == HW_EDESC && strstr(why.text, "trace function"));
    CHECK(hw_type_tail(heap, odd, pointer, &tail, &why) == HW_EDESC && strstr(why.text, "12 bytes"));
    CHECK(hw_type_tail(heap, of(heap, "[300]word"), pointer, &tail, &why) == HW_EDESC);
    CHECK(hw_type_tail(heap, of(heap, "{[60]word [10]ptr}"), pointer, &tail, &why) == HW_EDESC);
    CHECK(tail.few == 0 && tail.type == 0);
    CHECK(hw_type_tail(heap, of(heap, "{ptr word}"), pointer, &tail, &why) == HW_OK && why.status == HW_OK);
    CHECK(hw_type_tail(heap, tail.type, pointer, &other, &why) == HW_EDESC && strstr(why.text, "have tails"));
    CHECK(hw_type_tail(heap, 0, tail.type, &other, &why) == HW_EDESC && strstr(why.text, "have tails"));
    CHECK(hw_type_tail(heap, of(heap, "{ptr word}"), pointer, &other, &why) == HW_OK);
    CHECK(memcmp(&tail, &other, sizeof tail) == 0);
    CHECK(hw_alloc_tail(m, &tail, SIZE_MAX) == NULL && hw_last_error(m)->status == HW_ELIMIT);
    CHECK(hw_alloc_tail(m, &tail, SIZE_MAX / 8) == NULL && hw_last_error(m)->status == HW_ELIMIT);
    CHECK(hw_alloc_tail(m, &tail, (size_t)1 << 40) == NULL && hw_last_error(m)->status == HW_ELIMIT);
    other.type = pointer, other.few = 0;
    CHECK(hw_alloc_tail(m, &other, 3) == NULL && strstr(hw_last_error(m)->text, "not a type with a tail"));
    CHECK(hw_alloc_array(m, tail.type, 3) == NULL && hw_last_error(m)->status == HW_EDESC);
    CHECK(hw_alloc(m, tail.type) != NULL);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        verify |= strcmp(argv[i], "verify") == 0;
        values |= strcmp(argv[i], "values") == 0;
    }
    lengths();
    bytes();
    refusals();
    return 0;
}
