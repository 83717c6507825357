// heapwood.hpp: each class does what it promises, and each refusal is an Error with its sentence, or a Failure if exceptions
// are on. Stacks are not scanned, so what is alive is so by Locals, Frames, Handles and Roots alone.
//
//     wrapper [verify] [stress] [young] [beside]
#include "check.h"
#include <heapwood.hpp>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hw = heapwood;

namespace {

struct Node {
    Node *next;
    Node *children[3];
    uint64_t number;
};

struct Leaf {
    double x, y, z;
};

struct Made {
    Made(Node *node, uint64_t number) noexcept : node(node), number(number) {}
    Node *node;
    uint64_t number;
};

struct Derived : Node {
    Node *last;
};

struct Holder {
    hw::Weak<Node> *weak;
    hw::Ephemeron<Node, Node> *ephemeron;
};

// A value of a heap with tags: a pointer whose lowest bit is set, or a number with a lowest bit of 0.
struct Value {
    uint64_t bits;
    static Value of(Node *node) { return Value{reinterpret_cast<uintptr_t>(node) | 1}; }
    static Value of(uint64_t number) { return Value{number * 2}; }
    Node *node() const { return reinterpret_cast<Node *>(bits - 1); }
};

struct Box {
    Value value;
    Value many[2];
};

struct Wide {
    uint64_t words[300];
    Node *last;
};

int rounds;         // of what is done often, and less in stress mode
bool verify, stress;
hw::Options options; // of each heap

template <class T> T taken(hw::Result<T> result) {
    if (!result) fprintf(stderr, "%s\n", result.error().text());
    CHECK(result);
    return std::move(*result);
}

void fine(const hw::Error &error) {
    if (error) fprintf(stderr, "%s\n", error.text());
    CHECK(!error && error.status() == HW_OK && error.text()[0] == 0);
}

// The error has this status, and its sentence these words. Thrown, it has them, too.
void refused(const hw::Error &error, hw_status status, const char *text) {
    if (error.status() != status || strstr(error.text(), text) == nullptr) {
        fprintf(stderr, "%s, not %s\n", error.text(), text);
    }
    CHECK(error && error.status() == status && strstr(error.text(), text) != nullptr);
#ifdef HEAPWOOD_EXCEPTIONS
    bool caught = false;
    try {
        error.check();
    } catch (const hw::Failure &failure) {
        caught = failure.status() == status && strcmp(failure.what(), error.text()) == 0 && failure.error().status() == status;
    }
    CHECK(caught);
#endif
}

template <class T> void refused(hw::Result<T> result, hw_status status, const char *text) {
    CHECK(!result);
    refused(result.error(), status, text);
#ifdef HEAPWOOD_EXCEPTIONS
    bool caught = false;
    try {
        result.value();
    } catch (const std::exception &failure) {
        caught = strcmp(failure.what(), result.error().text()) == 0;
    }
    CHECK(caught);
#endif
}

uint64_t live(hw_heap *heap, hw::Mutator &m) {
    fine(m.collect());
    hw_stats stats = {};
    stats.size = sizeof stats;
    CHECK(hw_stats_get(heap, &stats) == HW_OK);
    return stats.live_objects;
}

hw::Type<Node> node_type(hw_heap *heap) {
    hw::Type<Node> type = taken(hw::Type<Node>::fields(heap, &Node::next, &Node::children));
    fine(type.name(heap, "Node"));
    return type;
}

// A node with a number, which is not rooted.
Node *node(hw_mutator *m, hw::Type<Node> type, uint64_t number) {
    Node *made = type.try_make(m);
    CHECK(made != nullptr && made->next == nullptr && made->children[2] == nullptr);
    made->number = number;
    return made;
}

// ------------------------------------------------------------------------------------------------- heaps and threads --

struct Elsewhere {
    hw_heap *heap;
    hw::Handle<Node> *handle;
};

void *handle_ends_elsewhere(void *arg) {
    Elsewhere *given = static_cast<Elsewhere *>(arg);
    CHECK(hw_self(given->heap) == nullptr);
    given->handle->reset();
    CHECK(hw_self(given->heap) == nullptr);
    return nullptr;
}

// The pages of addresses that this process has.
long addresses() {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != nullptr && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages;
}

void heaps_and_threads() {
    hw::Options wrong;
    wrong.percent = 0;
    refused(hw::Heap::create(wrong), HW_EINVAL, "percent");
    CHECK(setenv("HEAPWOOD", "percent=70", 1) == 0);
    hw::Options changed;
    fine(changed.environment());
    CHECK(changed.percent == 70 && unsetenv("HEAPWOOD") == 0);
    refused(wrong.environment(), HW_EINVAL, "percent");

    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Heap other = taken(hw::Heap::create());
    other = std::move(heap); // the first of these ends here
    heap = std::move(other);
    {
        hw::Mutator m = taken(hw::Mutator::attach(heap));
        CHECK(hw_self(heap) == m && hw_mutator_heap(m) == heap);
        refused(hw::Mutator::attach(heap), HW_ESTATE, "attached");
        refused(heap.destroy(), HW_ESTATE, "attached");
        hw::Mutator moved = std::move(m);
        fine(moved.collect());
        fine(moved.collect_young());
        hw_mutator *m_of_c = moved;
        hw_request_poll(moved);
        CHECK(m_of_c->poll != 0);
        moved.poll();
        CHECK(m_of_c->poll == 0);
        fine(moved.reserve(4096));
        fine(moved.reserve(0));
        refused(moved.reserve(SIZE_MAX / 2), HW_ELIMIT, "");
        fine(moved.detach());
        CHECK(hw_self(heap) == nullptr);
        refused(moved.detach(), HW_EINVAL, "HW_EINVAL"); // it has no mutator any more
    }
    {
        hw::Mutator scoped = taken(hw::Mutator::attach(heap));
    }
    CHECK(hw_self(heap) == nullptr);
    long one = -addresses();
    {
        hw::Heap scoped = taken(hw::Heap::create(options));
        one += addresses();
    }
    const long kept = addresses();
    for (int i = 0; i < 4; i++) CHECK(taken(hw::Heap::create(options)) != nullptr);
    CHECK(addresses() - kept < one); // each has ended, with its addresses
    hw::Mutator again = taken(hw::Mutator::attach(heap));
    again = taken(hw::Mutator::attach(taken(hw::Heap::create(options)))); // detaches; its heap cannot end, and stays
    CHECK(hw_self(heap) == nullptr);
    fine(again.detach());
    fine(heap.destroy());
    fine(heap.destroy());

    // A Result without a value ends the process if it is read, with the reason.
    int ends[2], status;
    char text[512] = "";
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        hw::Result<hw::Heap> none = hw::Heap::create(wrong);
        _exit(*none == nullptr);
    }
    CHECK(read(ends[0], text, sizeof text - 1) > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && strstr(text, "percent") != nullptr);
    close(ends[0]), close(ends[1]);
}

void *waits(void *arg) {
    hw_heap *heap = static_cast<hw_heap *>(arg);
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    for (int i = 0; i < 3; i++) fine(m.collect()); // the other thread is in a region, or this waits for good
    return nullptr;
}

void blocking() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    hw::Local<Node> kept(m, node(m, type, 7));
    pthread_t thread;
    {
        hw::Blocking region(m);
        CHECK(region);
        CHECK(pthread_create(&thread, nullptr, waits, static_cast<hw_heap *>(heap)) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
        refused(m.collect(), HW_ESTATE, "inside a blocking region");
        {
            hw::Blocking twice(m); // which does not begin, and does not end the first
            CHECK(!twice);
            refused(m.last_error(), HW_ESTATE, "");
        }
        refused(m.collect(), HW_ESTATE, "inside a blocking region");
    }
    fine(m.collect());
    int called = 0;
    fine(hw::call_blocking(m, [&] {
        CHECK(pthread_create(&thread, nullptr, waits, static_cast<hw_heap *>(heap)) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
        called++;
    }));
    CHECK(called == 1 && kept->number == 7);
#ifdef HEAPWOOD_EXCEPTIONS
    try {
        hw::Blocking region(m);
        throw 1;
    } catch (int) {
        fine(m.collect()); // the region has ended
    }
#endif
}

// ------------------------------------------------------------------------------------------------------------- roots --

// In turn all that keeps an object keeps one, and nothing after its end.
void roots() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    const uint64_t none = live(heap, m);
    {
        hw::Local<Node> a(m), b(m, node(m, type, 1));
        a = node(m, type, 2);
        CHECK(live(heap, m) == none + 2 && a->number == 2 && b.get()->number == 1);
        a = b;
        CHECK(a == b && live(heap, m) == none + 1);
        hw::Frame<Node *, 3> frame(m);
        for (Node *&slot : frame) CHECK(slot == nullptr);
        frame[2] = node(m, type, 3);
        CHECK(live(heap, m) == none + 2 && frame[2]->number == 3);
    }
    CHECK(live(heap, m) == none);
#ifdef HEAPWOOD_EXCEPTIONS
    try {
        hw::Local<Node> left(m, node(m, type, 4));
        throw 1;
    } catch (int) {
        CHECK(m.operator hw_mutator *()->frames == nullptr && live(heap, m) == none);
    }
#endif

    hw::Handle<Node> outlives, empty;
    CHECK(empty == nullptr);
    refused(empty.set(m, nullptr), HW_EINVAL, "handle is NULL");
    {
        hw::Handle<Node> handle = taken(hw::Handle<Node>::create(m, node(m, type, 5)));
        CHECK(live(heap, m) == none + 1 && handle->number == 5);
        fine(handle.set(m, node(m, type, 6)));
        outlives = std::move(handle);
        CHECK(handle == nullptr);
        refused(outlives.set(m, reinterpret_cast<Node *>(reinterpret_cast<char *>(outlives.get()) + 8)), HW_EINVAL, "");
    }
    CHECK(live(heap, m) == none + 1 && outlives->number == 6);
    pthread_t thread;
    {
        hw::Blocking region(m);
        Elsewhere given = {heap, &outlives};
        CHECK(region && pthread_create(&thread, nullptr, handle_ends_elsewhere, &given) == 0);
        CHECK(pthread_join(thread, nullptr) == 0);
    }
    CHECK(live(heap, m) == none);

    Node *variables[2] = {nullptr, nullptr};
    {
        hw::Root root = taken(hw::Root::slots(heap, variables));
        variables[1] = node(m, type, 8);
        hw::Root moved = std::move(root);
        CHECK(live(heap, m) == none + 1 && variables[1]->number == 8);
        moved.reset();
        variables[1] = nullptr;
    }
    CHECK(live(heap, m) == none);
    {
        hw::Root range = taken(hw::Root::range(heap, variables, variables + 2));
        variables[0] = node(m, type, 9);
        CHECK(live(heap, m) == none + 1);
        refused(hw::Root::range(heap, variables + 2, variables), HW_EINVAL, "");
        range = taken(hw::Root::slots(heap, variables[1])); // removes the first
        variables[0] = nullptr;
    }
    CHECK(live(heap, m) == none);
    struct Chain {
        Node *node;
        Chain *below;
    } inner = {nullptr, nullptr}, outer = {nullptr, &inner};
    auto names = [&](hw::Tracer tracer) {
        for (Chain *chain = &outer; chain != nullptr; chain = chain->below) tracer.visit(chain->node);
        tracer.visit_range(variables, variables + 1);
    };
    {
        hw::Root function = taken(hw::Root::function(heap, names));
        inner.node = node(m, type, 10);
        outer.node = node(m, type, 11);
        variables[0] = node(m, type, 12);
        CHECK(live(heap, m) == none + 3 && inner.node->number == 10 && outer.node->number == 11);
    }
    CHECK(live(heap, m) == none);
    refused(hw::Root::function(nullptr, names), HW_EINVAL, "heap");
}

// ------------------------------------------------------------------------------------------------------------- types --

void trace_node(Node &node, hw::Tracer tracer) {
    tracer.visit(node.next);
    tracer.visit_range(&node.children, &node.children + 1);
}

void fill(hw::Heap &heap, hw::Mutator &m, hw::Type<Node> type) {
    const uint64_t none = live(heap, m);
    hw::Local<Node> list(m);
    for (int i = 0; i < rounds; i++) {
        hw::Local<Node> head(m, node(m, type, static_cast<uint64_t>(i)));
        hw::store(m, head, &Node::next, list);
        hw::store(m, head, &Node::children, 2, node(m, type, 99));
        list = head;
        m.poll();
    }
    CHECK(live(heap, m) == none + 2 * static_cast<uint64_t>(rounds));
    int count = 0;
    for (Node *n = list; n != nullptr; n = n->next) {
        CHECK(n->number == static_cast<uint64_t>(rounds - ++count) && n->children[2]->number == 99);
    }
    CHECK(count == rounds);
}

void types() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    fill(heap, m, type);
    fill(heap, m, taken(hw::Type<Node>::described(heap, "{ ptr [3]ptr word }")));
    fill(heap, m, taken(hw::Type<Node>::conservative(heap)));
    fill(heap, m, taken(hw::Type<Node>::traced<trace_node>(heap)));
    fill(heap, m, hw::Type<Node>::from_number(type));
    hw::Type<Leaf> leaves = taken(hw::Type<Leaf>::no_pointers(heap));
    Leaf *leaf = leaves.try_make(m, 1.0, 2.0, 3.0);
    size_t size = 0;
    CHECK(leaf != nullptr && leaf->x == 1 && leaf->z == 3 && hw_base(m, leaf, &size) == leaf && size >= sizeof(Leaf));

    // Fields of a base, in their places.
    hw::Type<Derived> derived = taken(hw::Type<Derived>::fields(heap, &Derived::next, &Derived::last));
    hw::Local<Derived> last(m, derived.try_make(m));
    hw::store(m, last, &Derived::last, node(m, type, 20));
    hw::store(m, last, &Derived::next, node(m, type, 21));
    // A constructor; its arguments are read when there is memory.
    hw::Type<Made> with_constructor = taken(hw::Type<Made>::fields(heap, &Made::node));
    hw::Local<Node> argument(m, node(m, type, 22));
    hw::Local<Made> made(m, with_constructor.try_make(m, argument, 23u));
    argument = nullptr;
    fine(m.collect());
    CHECK(last->last->number == 20 && last->next->number == 21 && made->node->number == 22 && made->number == 23);

    refused(hw::Type<Node>::described(heap, "{ ptr"), HW_EDESC, "");
    refused(hw::Type<Node>::described(heap, "{ ptr word }"), HW_EDESC, "the text describes 16 bytes, and the C++ type has 40");
    refused(hw::Type<Wide>::fields(heap, &Wide::last), HW_EDESC, "behind the first 256 words");
    refused(hw::Type<Leaf>::no_pointers(nullptr), HW_EINVAL, "heap");
    refused(hw::Type<Node>().name(heap, "none"), HW_EINVAL, "");
    CHECK(hw::Type<Node>().try_make(m) == nullptr);
    refused(m.last_error(), HW_EINVAL, "type");
    fine(m.collect());
}

void tails() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    using List = hw::Tail<Node, Node *>;
    hw::Type<Node *> pointer = taken(hw::Type<Node *>::slot(heap));
    List lists = taken(List::create(heap, type, pointer));
    hw::Array<Node *> arrays = taken(hw::Array<Node *>::create(heap, pointer));
    hw::Array<Leaf> numbers = taken(hw::Array<Leaf>::create(heap, taken(hw::Type<Leaf>::no_pointers(heap))));
    for (size_t n : {size_t{0}, size_t{1}, size_t{5}, size_t{40}, static_cast<size_t>(stress ? 100 : 5000)}) {
        hw::Local<Node> list(m, lists.try_make(m, n));
        hw::Local<Node *> array(m, arrays.try_make(m, n));
        CHECK(list != nullptr && array != nullptr && numbers.try_make(m, n) != nullptr);
        hw::store(m, list, &Node::next, node(m, type, 1));
        for (size_t i = 0; i < n; i++) {
            CHECK(List::elements(list)[i] == nullptr && array[i] == nullptr);
            hw::store_inside(m, List::elements(list)[i], node(m, type, i));
            hw::store_inside(m, array[i], node(m, type, i + 1));
        }
        fine(m.collect());
        CHECK(list->next->number == 1);
        for (size_t i = 0; i < n; i++) CHECK(List::elements(list)[i]->number == i && array[i]->number == i + 1);
    }
    CHECK(arrays.try_make(m, SIZE_MAX / 4) == nullptr);
    CHECK(m.last_error());
    refused(List::create(heap, taken(hw::Type<Node>::traced<trace_node>(heap)), pointer), HW_EDESC, "trace function");
    refused(hw::Array<Leaf>::create(nullptr, hw::Type<Leaf>()), HW_EINVAL, "heap");
}

// ------------------------------------------------------------------------------------------------------------ stores --

void stores() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    hw::Local<Node> old(m, node(m, type, 1));
    hw::Handle<Node> handle = taken(hw::Handle<Node>::create(m, old));
    fine(m.collect());
    // Stores into an old object, each followed by a young collection.
    for (uint64_t i = 0; i < 20; i++) {
        hw::store(m, old, &Node::next, node(m, type, i));
        hw::store(m, handle, &Node::children, 0, node(m, type, i + 1));
        hw::store_inside(m, old->children[1], node(m, type, i + 2));
        fine(m.collect_young());
        CHECK(old->next->number == i && old->children[0]->number == i + 1 && old->children[1]->number == i + 2);
        hw::Local<Node> next(m, node(m, type, i + 3));
        CHECK(!hw::compare_and_store(m, old, &Node::next, nullptr, next));
        CHECK(hw::compare_and_store(m, old, &Node::next, old->next, next));
        Node *made = node(m, type, i + 4);
        fine(hw::dirty(m, old));
        old->children[2] = made;
        fine(m.collect_young());
        CHECK(old->next->number == i + 3 && old->children[2]->number == i + 4);
    }
    hw::store(m, old.get(), &Node::next, nullptr);
    Node *outside = nullptr;
    hw::store_inside(m, outside, old);
    CHECK(outside == old && old->next == nullptr);
    refused(hw::dirty(m, &outside), HW_EINVAL, "");
}

void plain() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    hw::Type<Node *> pointer = taken(hw::Type<Node *>::slot(heap));
    hw::Array<Node *> arrays = taken(hw::Array<Node *>::create(heap, pointer));
    hw::Local<Node *> stack(m, arrays.try_make(m, 64));
    fine(m.collect());
    {
        hw::Plain begun = taken(hw::Plain::begin(m, stack, 0));
        refused(hw::Plain::begin(m, stack, 0), HW_EINVAL, "");
        hw::Plain pushed = std::move(begun);
        for (uint64_t i = 0; i < 64; i++) {
            stack[pushed.top()] = node(m, type, i);
            pushed.top() = i + 1;
            if (i % 8 == 0) fine(m.collect_young());
        }
        fine(m.collect());
        for (uint64_t i = 0; i < 64; i++) CHECK(stack[i]->number == i);
    }
    fine(m.collect());
    for (uint64_t i = 0; i < 64; i++) CHECK(stack[i]->number == i);
    hw::Plain all = taken(hw::Plain::begin(m, stack, HW_PLAIN_ALL)); // so the last has ended
    fine(all.end());
    refused(all.end(), HW_EINVAL, "");
    refused(hw::Plain::begin(m, stack, 1000), HW_EINVAL, "");
}

void values() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Error error;
    CHECK(hw_heap_tag(heap, hw_tag{7, 1}, error.out()) == HW_OK);
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    hw::Type<Box> boxes = taken(hw::Type<Box>::fields(heap, &Box::value, &Box::many));
    Value variable = Value::of(uint64_t{3});
    hw::Root root = taken(hw::Root::slots(heap, variable));
    hw::Frame<Value, 2> frame(m);
    hw::Local<Box> box(m, boxes.try_make(m));
    hw::store(m, box, &Box::value, Value::of(node(m, type, 1)));
    hw::store(m, box, &Box::many, 1, Value::of(node(m, type, 2)));
    hw::store_inside(m, box->many[0], Value::of(uint64_t{5}));
    frame[1] = Value::of(node(m, type, 3));
    variable = Value::of(node(m, type, 4));
    fine(m.collect());
    CHECK(box->value.node()->number == 1 && box->many[1].node()->number == 2 && box->many[0].bits == 10);
    CHECK(frame[1].node()->number == 3 && variable.node()->number == 4);
}

// -------------------------------------------------------------------------------------------------------- weak things --

void weak() {
    hw::Heap heap = taken(hw::Heap::create(options));
    hw::Mutator m = taken(hw::Mutator::attach(heap));
    hw::Type<Node> type = node_type(heap);
    hw::Type<Holder> holders = taken(hw::Type<Holder>::fields(heap, &Holder::weak, &Holder::ephemeron));
    hw::Local<Holder> holder(m, holders.try_make(m));
    hw::Local<Node> key(m, node(m, type, 1));
    {
        hw::Local<Node> value(m, node(m, type, 2));
        hw::store(m, holder, &Holder::weak, hw::Weak<Node>::try_make(m, key));
        hw::store(m, holder, &Holder::ephemeron, hw::Ephemeron<Node, Node>::try_make(m, key, value));
    }
    fine(m.collect());
    CHECK(holder->weak->get(m) == key && holder->ephemeron->key(m) == key && holder->ephemeron->value(m)->number == 2);
    fine(holder->ephemeron->set(m, node(m, type, 3)));
    fine(m.collect());
    CHECK(holder->ephemeron->value(m)->number == 3);
    key = nullptr;
    fine(m.collect());
    CHECK(holder->weak->get(m) == nullptr && holder->ephemeron->key(m) == nullptr && holder->ephemeron->value(m) == nullptr);
    using Table = hw::WeakTable<Node, Node>;
    hw::Local<Table> table(m, Table::try_make(m));
    hw::Local<Node> value(m, node(m, type, 5));
    key = node(m, type, 4);
    fine(table->set(m, key, value));
    fine(table->set(m, value, nullptr));
    CHECK(table->count(m) == 2 && table->has(m, value) && table->get(m, value) == nullptr);
    CHECK(table->remove(m, value) && !table->remove(m, value) && !table->has(m, value));
    value = nullptr;
    fine(m.collect());
    CHECK(table->count(m) == 1 && table->get(m, key)->number == 5);
    key = nullptr;
    fine(m.collect());
    CHECK(table->count(m) == 0);
    refused(table->set(m, nullptr, nullptr), HW_EINVAL, "");
    Node *none = nullptr;
    CHECK(hw::Weak<Node>::try_make(m, none) == nullptr);
    refused(m.last_error(), HW_EINVAL, "");
    CHECK((hw::Ephemeron<Node, Node>::try_make(m, none, nullptr)) == nullptr);
    refused(m.last_error(), HW_EINVAL, "");
}

// ---------------------------------------------------------------------------------------------------- what is thrown --

#ifdef HEAPWOOD_EXCEPTIONS
template <class F> void throws(hw_status status, const char *text, F does) {
    bool caught = false;
    try {
        does();
    } catch (const hw::Failure &failure) {
        caught = failure.status() == status && strstr(failure.what(), text) != nullptr;
        if (!caught) fprintf(stderr, "%s\n", failure.what());
    }
    CHECK(caught);
}

void thrown() {
    hw::Options small = options;
    small.limit = 8 << 20;
    hw::Heap heap = hw::Heap::create(small).value();
    hw::Mutator m = hw::Mutator::attach(heap).value();
    hw::Type<Node> type = hw::Type<Node>::fields(heap, &Node::next, &Node::children).value();
    hw::Type<Node *> pointer = hw::Type<Node *>::slot(heap).value();
    hw::Array<Node *> arrays = hw::Array<Node *>::create(heap, pointer).value();
    hw::Tail<Node, Leaf> tails = hw::Tail<Node, Leaf>::create(heap, type, hw::Type<Leaf>::no_pointers(heap).value()).value();
    hw::Local<Node> list(m, type.make(m));
    CHECK(hw::Weak<Node>::make(m, list)->get(m) == list);
    CHECK((hw::Ephemeron<Node, Node>::make(m, list, nullptr)->key(m)) == list);
    CHECK((hw::WeakTable<Node, Node>::make(m)->count(m)) == 0);
    throws(HW_EINVAL, "", [&] { hw::Weak<Node>::make(m, static_cast<Node *>(nullptr)); });
    throws(HW_EINVAL, "", [&] { hw::Ephemeron<Node, Node>::make(m, static_cast<Node *>(nullptr), nullptr); });
    throws(HW_EINVAL, "type", [&] { hw::Type<Node>().make(m); });
    CHECK(arrays.make(m, 3) != nullptr && tails.make(m, 3) != nullptr);
    throws(HW_ELIMIT, "limit", [&] { arrays.make(m, 1 << 20); });
    throws(HW_ELIMIT, "limit", [&] { tails.make(m, 1 << 20); });
    if (!stress) { // which would collect 200000 times
        throws(HW_ELIMIT, "limit", [&] {
            for (;;) {
                Node *next = type.make(m);
                hw::store(m, next, &Node::next, list);
                list = next;
            }
        });
    }
    list = nullptr;
    m.collect().check();
    CHECK(type.make(m)->number == 0);
}
#else
static_assert(noexcept(hw::Type<Node>().try_make(nullptr)), "nothing is thrown");
void thrown() {}
#endif

} // namespace

int main(int argc, char **argv) {
    options.conservative_stacks = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "verify") == 0) options.verify = 1, verify = true;
        else if (strcmp(argv[i], "stress") == 0) options.stress = 1, stress = true;
        else if (strcmp(argv[i], "young") == 0) options.generational = HW_GENERATIONAL_ALWAYS;
        else if (strcmp(argv[i], "beside") == 0) options.concurrent = HW_CONCURRENT_ALWAYS;
        else CHECK(!"an argument that is known");
    }
    rounds = stress ? 20 : 2000;
    heaps_and_threads();
    blocking();
    roots();
    types();
    tails();
    stores();
    plain();
    values();
    weak();
    thrown();
    puts("each does what it promises");
    return 0;
}
