// The header from C++: everything inline is used once.
#include "check.h"
#include <heapwood.h>

namespace {

struct Node {
    Node *next;
    long number;
};

static_assert(sizeof(hw_bump) == 32, "the header's own assertions hold in C++");

void trace(void *object, size_t, hw_tracer *tracer) { hw_visit(tracer, &static_cast<Node *>(object)->next); }

class Frame {
public:
    Frame(hw_mutator *m, const void *slots, size_t count) : m_(m) { hw_frame_push(m, &frame_, slots, count); }
    ~Frame() { hw_frame_pop(m_, &frame_); }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;

private:
    hw_mutator *m_;
    hw_frame frame_;
};

} // namespace

int main() {
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    hw_heap *heap = nullptr;
    hw_mutator *m = nullptr;
    hw_type node = 0, traced = 0;
    const uint64_t mask = HW_POINTER(Node, next);
    CHECK(hw_heap_create(&options, &heap, nullptr) == HW_OK);
    CHECK(hw_attach(heap, nullptr, &m, nullptr) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(Node), &mask, 1, &node, nullptr) == HW_OK);
    CHECK(hw_type_trace(heap, sizeof(Node), trace, &traced, nullptr) == HW_OK);
    {
        Node *list = nullptr;
        Frame frame(m, &list, 1);
        for (long i = 0; i < 100000; i++) {
            Node *n = static_cast<Node *>(hw_alloc(m, i % 2 ? node : traced));
            CHECK(n != nullptr);
            n->number = i;
            hw_write(m, n, &n->next, list);
            list = n;
            CHECK(hw_alloc_bytes(m, 40) != nullptr);
            hw_safepoint(m);
        }
        hw_collect(m);
        hw_stats stats = hw_stats();
        stats.size = sizeof stats;
        CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.live_objects == 100000);
        long expected = 100000;
        for (Node *n = list; n != nullptr; n = n->next) CHECK(n->number == --expected);
        CHECK(expected == 0);
    }
    {
        hw_arena *arena = nullptr;
        CHECK(hw_arena_new(m, HW_ARENA_RECYCLE, &arena) == HW_OK);
        Node *list = nullptr;
        for (long i = 0; i < 1000; i++) {
            Node *n = static_cast<Node *>(hw_arena_alloc(arena, node, 1));
            CHECK(n != nullptr && hw_arena_alloc_bytes(arena, 3) != nullptr);
            n->number = i;
            hw_write(m, n, &n->next, list);
            list = n;
        }
        CHECK(hw_collect(m) == HW_OK && list->next->number == 998 && hw_arena_free(arena) == HW_OK);
    }
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, nullptr) == HW_OK);
    return 0;
}
