/* What verify mode says of mistakes that an embedder makes once, by the first argument: each is a sentence with the names of types.
 * Those that end the process are run by the test, which reads standard error. */
#define _GNU_SOURCE
#include <heapwood.h>
#include <string.h>
#include <sys/mman.h>
#include "check.h"

struct node {
    struct node *left, *right;
    uint64_t tag;
    struct node *forgotten;
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node, leaf;
static struct node *root;
static hw_error why;
static char reports[16][1024];
static int count;

static void note(void *arg, const char *text) {
    CHECK(arg == &count);
    if (count < 16) strcpy(reports[count++], text);
}

static void begin(uint32_t verify) {
    hw_options options;
    hw_options_init(&options);
    options.verify = verify;
    options.conservative_stacks = 0;
    options.generational = HW_GENERATIONAL_ALWAYS;
    CHECK(hw_heap_create(&options, &heap, &why) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, &why) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node, &why) == HW_OK);
    CHECK(hw_type_no_pointers(heap, 24, &leaf, &why) == HW_OK);
    CHECK(hw_type_name(heap, node, "Node", &why) == HW_OK);
    CHECK(hw_type_name(heap, leaf, "Leaf", &why) == HW_OK);
    CHECK(hw_type_name(heap, 12345, "None", &why) == HW_EINVAL);
    CHECK(hw_type_name(heap, node, NULL, &why) == HW_EINVAL);
    CHECK(hw_root_slots(heap, &root, 1, &why) != 0);
}

/* A function of its own, which the reports name. */
__attribute__((noinline)) struct node *make_node(void) {
    struct node *made = hw_alloc(m, node);
    CHECK(made);
    return made;
}

__attribute__((noinline)) void *make_leaf(void) {
    void *made = hw_alloc(m, leaf);
    CHECK(made);
    return made;
}

static void all(int n, const char *const *texts) {
    for (int i = 0; i < n; i++) {
        if (!strstr(reports[0], texts[i])) {
            fprintf(stderr, "'%s' lacks '%s'\n", reports[0], texts[i]);
            exit(1);
        }
    }
}

/* A store without the barrier. */
static void plain_store(void) {
    root = make_node();
    CHECK(hw_collect(m) == HW_OK);
    root->right = make_node();
    CHECK(hw_collect(m) == HW_OK);
    CHECK(count == 1);
    all(4, (const char *const[]){"word 1 of the Node at 0x", "(32 bytes, made in ", "by thread ", "without the write barrier"});
}

/* A field that the mask lacks: the object that it leads to is dead. */
static void forgotten_field(void) {
    root = make_node();
    root->forgotten = make_leaf();
    root->tag = (uint64_t)root->forgotten + 8;
    CHECK(hw_collect(m) == HW_OK);
    CHECK(count == 1);
    all(4, (const char *const[]){"word 3 of the Node at 0x", "leads to the Leaf at 0x", "(32 bytes, made in ", "found dead by collection 1"});
    CHECK(hw_collect(m) == HW_OK);
    CHECK(count == 1);
    /* Of a type without pointers, which should have some; and bytes, which are bytes. */
    count = 0;
    void **wrong = make_leaf(), **bytes = hw_alloc_bytes(m, 24);
    root = make_node();
    hw_write(m, root, &root->left, wrong);
    hw_write(m, root, &root->right, bytes);
    memset(wrong, 0, 24);
    wrong[1] = bytes[1] = make_node();
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(2, (const char *const[]){"word 1 of the Leaf at 0x", "leads to the Node at 0x"});
}

/* A store into an object that is dead: where its memory is nobody's, where it was used again, and where the program has freed it. */
static void written_after_death(void) {
    struct node *volatile gone[3];
    root = make_node();
    for (int i = 0; i < 3; i++) gone[i] = make_node();
    hw_write(m, root, &root->left, make_node());
    CHECK(hw_collect(m) == HW_OK && hw_collect(m) == HW_OK && count == 0);
    gone[0]->tag = 7;
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(5, (const char *const[]){"word 2 of the memory of the Node at 0x", "(32 bytes, made in ", "by thread ",
                                 ", found dead by collection 1) was written after the object was gone: it holds 0x7", "where no collection looks"});
    CHECK(hw_collect(m) == HW_OK && count == 1);

    count = 0;
    gone[1]->tag = 8;
    void *again;
    for (int i = 0; (again = make_node()) != gone[1]; i++) CHECK(i < 1000);
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(2, (const char *const[]){"word 2 of the memory of the Node at 0x", "found dead by collection 1) was written"});

    count = 0;
    gone[2] = make_node();
    CHECK(hw_free(m, gone[2]) == HW_OK);
    gone[2]->tag = 9;
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(2, (const char *const[]){"word 2 of the memory of the Node at 0x", ", freed by the program) was written"});
}

/* Stores past the end of an object: into the room to the end of its cell, or behind bytes, which have some always. */
static void overrun(void) {
    size_t size;
    char *bytes[3];
    void **handles[3];
    for (int i = 0; i < 3; i++) {
        const size_t sizes[] = {13, 64, 100000};
        bytes[i] = i == 0 ? hw_alloc_bytes_zeroed(m, sizes[i]) : hw_alloc_bytes(m, sizes[i]);
        memset(bytes[i], 1, sizes[i]);
        CHECK((handles[i] = hw_handle_new(m, bytes[i])) != NULL);
        CHECK(hw_base(m, bytes[i] + sizes[i] - 1, &size) == bytes[i] && size == sizes[i]);
    }
    CHECK(hw_type_no_pointers(heap, 24, &leaf, &why) == HW_OK);
    uint64_t *made = make_leaf(), mask = 1;
    root = (struct node *)made;
    CHECK(hw_collect(m) == HW_OK && count == 0);
    made[3] = 5;
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(3, (const char *const[]){"byte 0 behind the Leaf at 0x", "(24 bytes, made in ", ") was written, and is 0x5: a store has passed the object's end"});
    CHECK(hw_collect(m) == HW_OK && count == 1);
    const char *const said[] = {"byte 0 behind the object at 0x", "(64 bytes, made in ", ") was written, and is 0x0"};
    for (int i = 0; i < 3; i++) {
        count = 0;
        bytes[i][(const size_t[]){13, 64, 100000}[i]] = 0;
        CHECK(hw_collect(m) == HW_OK && count == 1);
        all(1, said);
        if (i == 1) all(3, said);
        CHECK(hw_handle_free(m, handles[i]) == HW_OK);
    }
    /* Of bytes that are freed before a collection. */
    count = 0;
    bytes[0] = hw_alloc_bytes(m, 40);
    bytes[0][41] = 3;
    CHECK(hw_free(m, bytes[0]) == HW_OK && hw_alloc_bytes(m, 40) && hw_collect(m) == HW_OK && count == 1);
    all(2, (const char *const[]){"byte 1 behind the object at 0x", "(40 bytes, made in "});
    /* Of a type with pointers, too. */
    hw_type odd;
    count = 0;
    CHECK(hw_type_mask(heap, 24, &mask, 1, &odd, &why) == HW_OK && hw_type_name(heap, odd, "Odd", &why) == HW_OK);
    root = hw_alloc(m, odd);
    root->forgotten = root;
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(1, (const char *const[]){" behind the Odd at 0x"});
}

/* hw_write into an object that is dead, and of one: both are told by the next collection. */
static void dead_owner(void) {
    struct node *volatile gone;
    root = make_node();
    gone = make_node();
    hw_write(m, root, &root->left, make_node());
    CHECK(hw_collect(m) == HW_OK && hw_collect(m) == HW_OK && count == 0);
    hw_write(m, gone, &gone->right, root);
    CHECK(hw_collect(m) == HW_OK && count == 1);
    all(2, (const char *const[]){"word 1 of the memory of the Node at 0x", "found dead by collection 1) was written"});
}

/* hw_write of a dead object: the next collection ends the process. */
static void dead_value(void) {
    struct node *volatile gone;
    root = make_node();
    gone = make_node();
    CHECK(hw_collect(m) == HW_OK);
    hw_write(m, root, &root->left, gone);
    hw_collect(m);
    CHECK(!"it ends the process");
}

/* hw_write into an object of another heap. */
static void foreign_owner(void) {
    hw_heap *mine = heap;
    hw_mutator *me = m;
    root = make_node();
    begin(1);
    CHECK(mine != heap && me != m);
    hw_write(m, root, &root->left, NULL);
    CHECK(!"it ends the process");
}

/* Types with the same description are one, with both names. */
static void shared_names(void) {
    struct pair {
        void *first, *second, *number, *other;
    };
    uint64_t mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, second);
    hw_type pair;
    CHECK(hw_type_mask(heap, sizeof(struct pair), &mask, 1, &pair, &why) == HW_OK && pair == node);
    for (int i = 0; i < 3; i++) {
        CHECK(hw_type_name(heap, pair, "Pair", &why) == HW_OK && hw_type_name(heap, pair, "Node", &why) == HW_OK);
        CHECK(hw_type_name(heap, pair, "Pai", &why) == HW_OK && hw_type_name(heap, pair, "", &why) == HW_OK);
    }
    char text[1024];
    root = make_node();
    CHECK(hw_why_alive(m, root, text, sizeof text) == HW_OK && strstr(text, "the Node or Pair or Pai at 0x"));
    /* More than there is room for. */
    char name[] = "Axyz";
    for (; name[0] <= 'Z'; name[0]++) CHECK(hw_type_name(heap, pair, name, &why) == HW_OK);
    CHECK(hw_why_alive(m, root, text, sizeof text) == HW_OK && strstr(text, "Pai or Axyz or B") && !strstr(text, "Hxyz"));
}

/* What keeps an object alive. */
static void why_alive(void) {
    char text[1024];
    root = make_node();
    struct node *inner = make_node();
    hw_write(m, root, &root->right, inner);
    void *last = make_leaf();
    hw_write(m, inner, &inner->left, last);
    CHECK(hw_why_alive(m, last, text, sizeof text) == HW_OK);
    CHECK(strstr(text, "the Leaf at ") == text);
    const char *at = text;
    const char *const steps[] = {"\nfrom word 0 of the Node at ", "\nfrom word 1 of the Node at ", "\nfrom the root slot at 0x"};
    for (int i = 0; i < 3; i++) CHECK((at = strstr(at, steps[i])) != NULL);
    /* No room for all. */
    char few[20];
    CHECK(hw_why_alive(m, last, few, sizeof few) == HW_OK && strlen(few) == 19 && !strncmp(few, text, 19));
    CHECK(hw_why_alive(m, (char *)last + 8, text, sizeof text) == HW_EINVAL);
    CHECK(hw_why_alive(m, last, NULL, 7) == HW_EINVAL);
    hw_write(m, inner, &inner->left, NULL);
    CHECK(hw_why_alive(m, last, text, sizeof text) == HW_OK && strstr(text, "no root leads to it"));
    /* A long list is cut in the middle. */
    struct node *first = root;
    for (int i = 0; i < 1000; i++) {
        struct node *next = make_node();
        hw_write(m, next, &next->left, root);
        root = next;
    }
    CHECK(hw_why_alive(m, first, text, sizeof text) == HW_OK);
    CHECK(count == 0);
}

/* The pointer of an object that died, from memory that the heap does not know. */
static void use_after_death(void) {
    struct node **box = malloc(sizeof *box);
    *box = make_node();
    hw_write(m, *box, &(*box)->left, make_node());
    CHECK(hw_collect(m) == HW_OK);
    struct node *volatile gone = *box;
    /* Its memory is filled: this faults. */
    gone->left->tag++;
    CHECK(!"it faults");
}

static __attribute__((noinline)) void leave_frame(void) {
    void *slots[1] = {NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, slots, 1);
}

/* Calls a function deeper in the stack than any of the collector, whose variables would lie there, too. */
static __attribute__((noinline)) void deeper(void (*function)(void)) {
    volatile char between[1 << 16];
    between[0] = 0;
    function();
    between[1] = between[0];
}

/* A frame that its function has left behind. */
static void frame_left(void) {
    deeper(leave_frame);
    hw_collect(m);
    CHECK(!"it ends the process");
}

/* A frame in memory that was given back, and is used for something else. */
static void frame_freed(void) {
    struct {
        hw_frame frame;
        void *slots[1];
    } *memory = malloc(sizeof *memory);
    CHECK(memory);
    memory->slots[0] = NULL;
    hw_frame_push(m, &memory->frame, memory->slots, 1);
    CHECK(hw_collect(m) == HW_OK);
    memset(memory, 0x5a, sizeof *memory);
    hw_collect(m);
    CHECK(!"it ends the process");
}

/* A root range that is not readable any more; unmapped memory might be mapped again. */
static void root_unmapped(void) {
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && hw_root_range(heap, memory, memory + 8192, &why) != 0);
    CHECK(hw_collect(m) == HW_OK && mprotect(memory + 4096, 4096, PROT_NONE) == 0);
    hw_collect(m);
    CHECK(!"it ends the process");
}

static void stops(void) {
    plain_store();
    CHECK(!"the first report ends the process");
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    /* The first of them tell a function of the program. */
    enum { TELL = 7, CASES = 14 };
    const char *const names[CASES] = {"store", "field", "why", "written", "overrun", "owner", "names", "value", "foreign", "death", "stop", "frame", "freed", "root"};
    void (*const cases[CASES])(void) = {plain_store, forgotten_field, why_alive,     written_after_death, overrun,    dead_owner,  shared_names,
                                        dead_value,  foreign_owner,   use_after_death, stops,             frame_left, frame_freed, root_unmapped};
    for (int i = 0; i < CASES; i++) {
        if (strcmp(argv[1], names[i])) continue;
        begin(cases[i] == stops ? 2 : 1);
        if (i < TELL) CHECK(hw_on_report(heap, note, &count, &why) == HW_OK);
        cases[i]();
        root = NULL;
        CHECK(hw_on_report(heap, NULL, NULL, &why) == HW_OK);
        CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
        puts("named");
        return 0;
    }
    return 2;
}
