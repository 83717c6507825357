// heapwood.hpp - the C interface with types: heaps, mutators, roots and errors that clean up after themselves. C++17.
//
// heapwood.h is the reference, and its promises hold here, too. This header adds no code to the library and nothing to a
// fast path. What it does not wrap is called as in C: Heap converts to hw_heap *, Mutator to hw_mutator *, and every
// function here takes those.
//
//   - A function that can fail returns an Error, or a Result: a value or an Error. Neither throws. With exceptions
//     Error::check and Result::value throw a Failure, and allocation has a form that does (make beside try_make).
//     Compiled with -fno-exceptions these are not there.
//   - Objects are structs of the program's. The collector runs no destructor: what an object owns outside the heap has a
//     finaliser (hw_finalize_data).
//   - "Rooted": a Local, a Frame, a Handle, a Root or a rooted object holds it, or, unless conservative_stacks is 0, a variable
//     of an attached thread. What is not rooted may be gone after the next allocation or poll.
//
// Classes that end something do it in their destructors, which tell nobody of a refusal; the functions they call do.
#ifndef HEAPWOOD_HPP
#define HEAPWOOD_HPP

#include "heapwood.h"

#if __cplusplus < 201703L
#error "heapwood.hpp needs C++17: compile with -std=c++17, or use heapwood.h, which needs C++11"
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#ifdef __cpp_exceptions
#define HEAPWOOD_EXCEPTIONS 1
#endif

namespace heapwood {

// ---------------------------------------------------------------------------------------------------------- errors --

// Why something was refused, or that nothing was. True if there is an error.
class [[nodiscard]] Error {
public:
    Error() noexcept : error_{HW_OK, {0}} {}
    explicit Error(const hw_error &error) noexcept : error_(error) {}
    // With a sentence of the program's, cut after 251 bytes.
    Error(hw_status status, const char *text) noexcept : error_{status, {0}} {
        std::snprintf(error_.text, sizeof error_.text, "%s", text);
    }

    explicit operator bool() const noexcept { return error_.status != HW_OK; }
    hw_status status() const noexcept { return error_.status; }
    // A sentence without its full stop; empty if there is no error.
    const char *text() const noexcept { return error_.text; }
    // For functions of heapwood.h that store the reason: hw_root_slots(heap, slots, n, error.out()).
    hw_error *out() noexcept { return &error_; }
#ifdef HEAPWOOD_EXCEPTIONS
    // Throws a Failure if there is an error.
    void check() const;
#endif

private:
    hw_error error_;
};

// The last refusal of a mutator (hw_last_error).
inline Error last_error(const hw_mutator *m) noexcept { return Error(*hw_last_error(m)); }

// What a call with a mutator has returned, as an Error.
inline Error result_of(const hw_mutator *m, hw_status status) noexcept {
    return status == HW_OK ? Error() : m == nullptr ? Error(status, hw_strstatus(status)) : last_error(m);
}

#ifdef HEAPWOOD_EXCEPTIONS
// An Error, thrown.
class Failure : public std::exception {
public:
    explicit Failure(const Error &error) noexcept : error_(error) {}
    const char *what() const noexcept override { return error_.text(); }
    hw_status status() const noexcept { return error_.status(); }
    const Error &error() const noexcept { return error_; }

private:
    Error error_;
};

inline void Error::check() const {
    if (*this) throw Failure(*this);
}
#endif

// A value, or why there is none. True if there is a value. Reading one that is not there ends the process with the reason.
template <class T> class [[nodiscard]] Result {
public:
    Result(T &&value) noexcept : value_(std::move(value)) {}
    Result(const Error &error) noexcept : error_(error) {}

    explicit operator bool() const noexcept { return value_.has_value(); }
    T &operator*() noexcept {
        if (!value_) {
            std::fprintf(stderr, "heapwood.hpp: a Result without a value was read: %s\n", error_.text());
            std::abort();
        }
        return *value_;
    }
    T *operator->() noexcept { return &**this; }
    const Error &error() const noexcept { return error_; }
#ifdef HEAPWOOD_EXCEPTIONS
    // The value, moved; throws a Failure if there is none.
    T value() {
        error_.check();
        return std::move(**this);
    }
#endif

private:
    std::optional<T> value_;
    Error error_;
};

// -------------------------------------------------------------------------------------------- heaps and mutators --

// The options of a heap, each at its default; the fields are those of hw_options.
struct Options : hw_options {
    Options() noexcept { hw_options_init(this); }
    // Changes them by the variable HEAPWOOD (hw_options_env).
    Error environment() noexcept {
        Error error;
        hw_options_env(this, error.out());
        return error;
    }
};

// A heap. It ends with this object, unless threads are attached or finalisers are left then: it stays for good, as
// destroy() would tell.
class Heap {
public:
    static Result<Heap> create(const hw_options &options = Options()) noexcept {
        hw_heap *heap = nullptr;
        Error error;
        if (hw_heap_create(&options, &heap, error.out()) != HW_OK) return error;
        return Heap(heap);
    }
    Heap(Heap &&other) noexcept : heap_(std::exchange(other.heap_, nullptr)) {}
    Heap &operator=(Heap &&other) noexcept {
        if (this != &other) {
            hw_heap_destroy(heap_, nullptr);
            heap_ = std::exchange(other.heap_, nullptr);
        }
        return *this;
    }
    ~Heap() { hw_heap_destroy(heap_, nullptr); }

    // Ends the heap now. On error it goes on.
    Error destroy() noexcept {
        Error error;
        if (hw_heap_destroy(heap_, error.out()) == HW_OK) heap_ = nullptr;
        return error;
    }
    operator hw_heap *() const noexcept { return heap_; }

private:
    explicit Heap(hw_heap *heap) noexcept : heap_(heap) {}
    hw_heap *heap_;
};

// The calling thread's part in a heap. The thread is detached when this object ends, which is on that thread, before the
// heap, and after its Locals and Frames.
class Mutator {
public:
    // stack_hi: one past the highest word of the stack that may hold pointers; nullptr asks the system.
    static Result<Mutator> attach(hw_heap *heap, void *stack_hi = nullptr) noexcept {
        hw_mutator *m = nullptr;
        Error error;
        if (hw_attach(heap, stack_hi, &m, error.out()) != HW_OK) return error;
        return Mutator(m);
    }
    Mutator(Mutator &&other) noexcept : m_(std::exchange(other.m_, nullptr)) {}
    Mutator &operator=(Mutator &&other) noexcept {
        if (this != &other) {
            hw_detach(m_);
            m_ = std::exchange(other.m_, nullptr);
        }
        return *this;
    }
    ~Mutator() { hw_detach(m_); }

    // Detaches the thread now. On error it stays attached.
    Error detach() noexcept {
        hw_status status = hw_detach(m_);
        if (status != HW_OK) return result_of(m_, status);
        m_ = nullptr;
        return Error();
    }
    // A full collection: what is not rooted is gone.
    Error collect() noexcept { return result_of(m_, hw_collect(m_)); }
    Error collect_young() noexcept { return result_of(m_, hw_collect_young(m_)); }
    // The next so many bytes cannot fail (hw_reserve).
    Error reserve(size_t bytes) noexcept { return result_of(m_, hw_reserve(m_, bytes)); }
    // Lets a collection that waits go on (hw_safepoint).
    void poll() noexcept { hw_safepoint(m_); }
    Error last_error() const noexcept { return heapwood::last_error(m_); }
    operator hw_mutator *() const noexcept { return m_; }

private:
    explicit Mutator(hw_mutator *m) noexcept : m_(m) {}
    hw_mutator *m_;
};

// A region in which the thread counts as stopped, to the end of the scope: for system calls, locks, sleep. Inside it no
// object, root or mutator of the thread is touched, and nothing is allocated. What its function uses afterwards is rooted by
// more than a variable of that function (hw_blocking_begin). Neither moved nor made by new: begin and end are in one function.
class Blocking {
public:
    __attribute__((always_inline)) explicit Blocking(hw_mutator *m) noexcept : m_(m), status_(hw_blocking_begin(m)) {}
    __attribute__((always_inline)) ~Blocking() {
        if (status_ == HW_OK) hw_blocking_end(m_);
    }
    Blocking(const Blocking &) = delete;
    Blocking &operator=(const Blocking &) = delete;
    static void *operator new(size_t) = delete;
    // Whether the region has begun. If not: the thread cannot wait here, last_error(m) has the reason.
    explicit operator bool() const noexcept { return status_ == HW_OK; }

private:
    hw_mutator *m_;
    hw_status status_;
};

// Calls f() as such a region (hw_call_blocking); variables of the calling function are seen. An exception that leaves f ends the
// process. On error f was not called.
template <class F> Error call_blocking(hw_mutator *m, F &&f) noexcept {
    auto call = [](void *arg) noexcept { (*static_cast<std::remove_reference_t<F> *>(arg))(); };
    void *arg = const_cast<void *>(static_cast<const void *>(std::addressof(f)));
    return result_of(m, hw_call_blocking(m, call, arg));
}

// ------------------------------------------------------------------------------------------------------------ roots --

// A variable that roots an object, as long as its scope: a linked frame of one slot (hw_frame_push). It is read and assigned as
// a T *. Locals and Frames end in reverse order, as variables do, so they are neither moved nor made by new.
template <class T> class Local {
public:
    explicit Local(hw_mutator *m, T *object = nullptr) noexcept : slot_(object), m_(m) {
        hw_frame_push(m, &frame_, &slot_, 1);
    }
    ~Local() { hw_frame_pop(m_, &frame_); }
    Local(const Local &) = delete;
    Local &operator=(const Local &other) noexcept { return *this = other.slot_; }
    Local &operator=(T *object) noexcept {
        slot_ = object;
        return *this;
    }
    static void *operator new(size_t) = delete;

    T *get() const noexcept { return slot_; }
    operator T *() const noexcept { return slot_; }
    T *operator->() const noexcept { return slot_; }

private:
    T *slot_;
    hw_frame frame_;
    hw_mutator *m_;
};

// N slots, linked at once: Frame<Node *, 3>. In a heap with tags a slot may be a tagged word of 8 bytes.
template <class F, size_t N> class Frame {
    static_assert(N > 0, "a frame has at least one slot");
    static_assert(sizeof(F) == 8 && std::is_trivially_copyable_v<F>, "a slot is a pointer or a word of 8 bytes");

public:
    // All slots are zero.
    explicit Frame(hw_mutator *m) noexcept : m_(m) { hw_frame_push(m, &frame_, slots_, N); }
    ~Frame() { hw_frame_pop(m_, &frame_); }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;
    static void *operator new(size_t) = delete;

    // i is less than N.
    F &operator[](size_t i) noexcept { return slots_[i]; }
    F *begin() noexcept { return slots_; }
    F *end() noexcept { return slots_ + N; }

private:
    F slots_[N] = {};
    hw_frame frame_;
    hw_mutator *m_;
};

// A root that outlives the function and the mutator. Any attached thread may read and set it. It is freed with this object: on a
// thread that is not attached by attaching for that moment, so not after the heap.
template <class T> class Handle {
public:
    static Result<Handle> create(hw_mutator *m, T *object = nullptr) noexcept {
        void **handle = hw_handle_new(m, const_cast<void *>(static_cast<const void *>(object)));
        if (handle == nullptr) return last_error(m);
        return Handle(hw_mutator_heap(m), handle);
    }
    // Holds nothing, and cannot be set.
    Handle() noexcept : heap_(nullptr), handle_(nullptr) {}
    Handle(Handle &&other) noexcept : heap_(other.heap_), handle_(std::exchange(other.handle_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            reset();
            heap_ = other.heap_;
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~Handle() { reset(); }

    T *get() const noexcept {
        return handle_ == nullptr ? nullptr : static_cast<T *>(__atomic_load_n(handle_, __ATOMIC_ACQUIRE));
    }
    operator T *() const noexcept { return get(); }
    T *operator->() const noexcept { return get(); }
    Error set(hw_mutator *m, T *object) noexcept {
        return result_of(m, hw_handle_set(m, handle_, const_cast<void *>(static_cast<const void *>(object))));
    }
    // Frees it now.
    void reset() noexcept {
        if (handle_ == nullptr) return;
        hw_mutator *m = hw_self(heap_), *joined = nullptr;
        if (m == nullptr && hw_attach(heap_, nullptr, &joined, nullptr) == HW_OK) m = joined;
        if (m != nullptr) hw_handle_free(m, handle_);
        if (joined != nullptr) hw_detach(joined);
        handle_ = nullptr;
    }

private:
    Handle(hw_heap *heap, void **handle) noexcept : heap_(heap), handle_(handle) {}
    hw_heap *heap_;
    void **handle_;
};

// The collector, as trace functions and root functions see it. They do no more than the header allows: see hw_trace_fn.
class Tracer {
public:
    explicit Tracer(hw_tracer *tracer) noexcept : tracer_(tracer) {}
    // What this slot holds is alive: a pointer, or a tagged word of 8 bytes in a heap with tags.
    template <class F> void visit(const F &slot) const noexcept {
        static_assert(sizeof(F) == 8 && std::is_trivially_copyable_v<F>, "a slot is a pointer or a word of 8 bytes");
        hw_visit(tracer_, &slot);
    }
    // Whatever the words from lo up to hi point to, or into, is alive.
    void visit_range(const void *lo, const void *hi) const noexcept { hw_visit_range(tracer_, lo, hi); }

private:
    hw_tracer *tracer_;
};

// A registered root, removed with this object. The memory that it names stays readable until then.
class Root {
public:
    // A variable that holds a pointer (or a tagged word), or an array of such variables.
    template <class F> static Result<Root> slots(hw_heap *heap, F &variables) noexcept {
        using Slot = std::remove_all_extents_t<F>;
        static_assert(sizeof(Slot) == 8 && std::is_trivially_copyable_v<Slot>,
                      "a slot is a pointer or a word of 8 bytes");
        Error error;
        return made(heap, hw_root_slots(heap, &variables, sizeof(F) / 8, error.out()), error);
    }
    // The aligned words from lo up to hi, whatever they hold.
    static Result<Root> range(hw_heap *heap, const void *lo, const void *hi) noexcept {
        Error error;
        return made(heap, hw_root_range(heap, lo, hi, error.out()), error);
    }
    // Calls names(Tracer) in each collection (hw_root_function), on any thread: it names all its roots each time, throws
    // nothing, and exists as long as this object.
    template <class F> static Result<Root> function(hw_heap *heap, F &names) noexcept {
        auto call = [](void *arg, hw_tracer *tracer) noexcept { (*static_cast<F *>(arg))(Tracer(tracer)); };
        void *arg = const_cast<void *>(static_cast<const void *>(std::addressof(names)));
        Error error;
        return made(heap, hw_root_function(heap, call, arg, error.out()), error);
    }
    template <class F> static Result<Root> function(hw_heap *heap, const F &&names) = delete;

    Root(Root &&other) noexcept : heap_(other.heap_), root_(std::exchange(other.root_, 0)) {}
    Root &operator=(Root &&other) noexcept {
        if (this != &other) {
            reset();
            heap_ = other.heap_;
            root_ = std::exchange(other.root_, 0);
        }
        return *this;
    }
    ~Root() { reset(); }

    // Removes it now.
    void reset() noexcept {
        if (root_ != 0) hw_root_remove(heap_, std::exchange(root_, 0), nullptr);
    }

private:
    Root(hw_heap *heap, hw_root root) noexcept : heap_(heap), root_(root) {}
    static Result<Root> made(hw_heap *heap, hw_root root, const Error &error) noexcept {
        if (root == 0) return error;
        return Root(heap, root);
    }
    hw_heap *heap_;
    hw_root root_;
};

namespace detail {

template <class T> struct Same { using type = T; };
template <class T> using same = typename Same<T>::type; // no place to deduce T from

inline std::nullptr_t raw(std::nullptr_t) noexcept { return nullptr; }
template <class T> T *raw(T *object) noexcept { return object; }
template <class T> T *raw(const Local<T> &object) noexcept { return object.get(); }
template <class T> T *raw(const Handle<T> &object) noexcept { return object.get(); }

// A pointer or a tagged word as the C functions take it.
template <class F> const void *word(const F &value) noexcept {
    static_assert(sizeof(F) == 8 && std::is_trivially_copyable_v<F>, "a slot is a pointer or a word of 8 bytes");
    const void *word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

// Where a field of T lies.
template <class T, class C, class F> size_t offset(F C::*field) noexcept {
    const T *at = reinterpret_cast<const T *>(uintptr_t{1} << 20); // of which nothing is read
    return reinterpret_cast<uintptr_t>(&(at->*field)) - (uintptr_t{1} << 20);
}

// An object that was allocated, or a Failure.
template <class T> T *checked(hw_mutator *m, T *object) {
#ifdef HEAPWOOD_EXCEPTIONS
    if (object == nullptr) throw Failure(last_error(m));
#endif
    return object;
}

} // namespace detail

// ------------------------------------------------------------------------------------------------------------ types --

// A registered type of a heap, whose objects are Ts (a hw_type). It lasts as long as the heap, and is copied freely.
template <class T> class Type {
    static_assert(alignof(T) <= 16, "objects are aligned to 16 bytes");
    static_assert(std::is_trivially_destructible_v<T>,
                  "the collector runs no destructors: what an object owns outside the heap has a finaliser");

public:
    // No type: nothing is allocated of it.
    Type() noexcept : number_(0) {}

    static Result<Type> no_pointers(hw_heap *heap) noexcept {
        return made([&](hw_type *out, hw_error *why) { hw_type_no_pointers(heap, sizeof(T), out, why); });
    }
    // The fields that hold pointers (or tagged words), and arrays of them: Type<Node>::fields(heap, &Node::left, &Node::right).
    // They lie in the first 256 words.
    template <class... F, class... C> static Result<Type> fields(hw_heap *heap, F C::*...field) noexcept {
        static_assert(sizeof...(F) > 0, "no_pointers is for types without any");
        static_assert(((sizeof(std::remove_all_extents_t<F>) == 8) && ...), "a field is a pointer or a word of 8 bytes");
        static_assert((std::is_trivially_copyable_v<std::remove_all_extents_t<F>> && ...), "a field is a word");
        static_assert(sizeof(T) % 8 == 0, "a type with pointers is a whole number of words");
        uint64_t mask[4] = {0, 0, 0, 0};
        bool fits = true;
        const std::pair<size_t, size_t> places[] = {{detail::offset<T>(field) / 8, sizeof(F) / 8}...};
        for (auto [first, count] : places) {
            for (size_t i = first; i < first + count; i++) {
                if (i >= 256) fits = false;
                else mask[i / 64] |= uint64_t{1} << i % 64;
            }
        }
        if (!fits) {
            return Error(HW_EDESC, "a field lies behind the first 256 words of the type: describe it by a text or a program");
        }
        constexpr size_t words = sizeof(T) / 8 < 256 ? (sizeof(T) / 8 + 63) / 64 : 4;
        return made([&](hw_type *out, hw_error *why) { hw_type_mask(heap, sizeof(T), mask, words, out, why); });
    }
    // T is itself a pointer (or a tagged word), as an element of an array is: Type<Node *>::slot(heap).
    static Result<Type> slot(hw_heap *heap) noexcept {
        static_assert(sizeof(T) == 8 && std::is_trivially_copyable_v<T>, "a slot is a pointer or a word of 8 bytes");
        const uint64_t mask = 1;
        return made([&](hw_type *out, hw_error *why) { hw_type_mask(heap, 8, &mask, 1, out, why); });
    }
    // By a text (hw_type_describe), which must be as long as T: "{ word ptr [100]{ptr word} }".
    static Result<Type> described(hw_heap *heap, const char *text) noexcept {
        size_t size = 0;
        auto result = made([&](hw_type *out, hw_error *why) { hw_type_describe(heap, text, &size, out, why); });
        if (result && size != sizeof(T)) {
            char sentence[sizeof hw_error().text];
            std::snprintf(sentence, sizeof sentence, "the text describes %zu bytes, and the C++ type has %zu", size, sizeof(T));
            return Error(HW_EDESC, sentence);
        }
        return result;
    }
    // Any word may be a pointer.
    static Result<Type> conservative(hw_heap *heap) noexcept {
        return made([&](hw_type *out, hw_error *why) { hw_type_conservative(heap, sizeof(T), out, why); });
    }
    // A function finds the pointers, by the rules of hw_trace_fn: void trace(T &object, Tracer tracer).
    template <auto trace> static Result<Type> traced(hw_heap *heap) noexcept {
        auto call = [](void *object, size_t, hw_tracer *tracer) noexcept {
            trace(*static_cast<T *>(object), Tracer(tracer));
        };
        return made([&](hw_type *out, hw_error *why) { hw_type_trace(heap, sizeof(T), call, out, why); });
    }
    // A type that was registered in C. The caller knows that its objects are Ts.
    static Type from_number(hw_type number) noexcept { return Type(number); }

    // Names it for reports.
    Error name(hw_heap *heap, const char *name) const noexcept {
        Error error;
        hw_type_name(heap, number_, name, error.out());
        return error;
    }
    operator hw_type() const noexcept { return number_; }

    // An object: T{arguments..}, or without arguments zero if the type has pointers, and anything if not. What the arguments
    // refer to is rooted. The constructor may store plainly into its object; it neither allocates nor polls. The object is
    // not rooted. nullptr: no memory, or an error; last_error(m) has the reason. May collect.
    template <class... A> T *try_make(hw_mutator *m, A &&...arguments) const noexcept(std::is_nothrow_constructible_v<T, A...>) {
        void *memory = hw_alloc(m, number_);
        if (memory == nullptr) return nullptr;
        if constexpr (sizeof...(A) == 0 && std::is_trivially_default_constructible_v<T>) return static_cast<T *>(memory);
        else return ::new (memory) T{std::forward<A>(arguments)...};
    }
#ifdef HEAPWOOD_EXCEPTIONS
    // The same, and a Failure if there is none.
    template <class... A> T *make(hw_mutator *m, A &&...arguments) const {
        return detail::checked(m, try_make(m, std::forward<A>(arguments)...));
    }
#endif

private:
    explicit Type(hw_type number) noexcept : number_(number) {}
    template <class R> static Result<Type> made(R registers) noexcept {
        Type type;
        Error error;
        registers(&type.number_, error.out());
        if (error) return error;
        return Result<Type>(std::move(type));
    }
    hw_type number_;
};

// Objects of a header H and behind it any number of Es (hw_type_tail).
template <class H, class E> class Tail {
    static_assert(sizeof(H) % alignof(E) == 0, "the elements begin where the header ends");
    static_assert(std::is_trivially_copyable_v<E>, "elements are made of zeros");

public:
    static Result<Tail> create(hw_heap *heap, Type<H> header, Type<E> element) noexcept {
        Tail tail;
        Error error;
        if (hw_type_tail(heap, header, element, &tail.tail_, error.out()) != HW_OK) return error;
        return Result<Tail>(std::move(tail));
    }
    // The header, of zeros if the object may hold pointers; so are the elements. As for Type::try_make.
    H *try_make(hw_mutator *m, size_t n) const noexcept { return static_cast<H *>(hw_alloc_tail(m, &tail_, n)); }
#ifdef HEAPWOOD_EXCEPTIONS
    H *make(hw_mutator *m, size_t n) const { return detail::checked(m, try_make(m, n)); }
#endif
    // The first element of such an object.
    static E *elements(H *object) noexcept { return reinterpret_cast<E *>(reinterpret_cast<char *>(object) + sizeof(H)); }
    operator hw_type() const noexcept { return tail_.type; }

private:
    Tail() noexcept : tail_() {}
    hw_tail tail_;
};

// Arrays of Es, of any length.
template <class E> class Array {
    static_assert(std::is_trivially_copyable_v<E>, "elements are made of zeros");

public:
    static Result<Array> create(hw_heap *heap, Type<E> element) noexcept {
        Array array;
        Error error;
        if (hw_type_tail(heap, 0, element, &array.tail_, error.out()) != HW_OK) return error;
        return Result<Array>(std::move(array));
    }
    // The first of n elements, of zeros if they may hold pointers. As for Type::try_make.
    E *try_make(hw_mutator *m, size_t n) const noexcept { return static_cast<E *>(hw_alloc_tail(m, &tail_, n)); }
#ifdef HEAPWOOD_EXCEPTIONS
    E *make(hw_mutator *m, size_t n) const { return detail::checked(m, try_make(m, n)); }
#endif

private:
    Array() noexcept : tail_() {}
    hw_tail tail_;
};

// ----------------------------------------------------------------------------------------------------------- stores --

// object->*field = value (hw_write). object is a T *, Local or Handle, and the object's start.
template <class O, class C, class F>
void store(hw_mutator *m, const O &object, F C::*field, const detail::same<F> &value) noexcept {
    auto *at = detail::raw(object);
    hw_write(m, at, &(at->*field), detail::word(value));
}

// (object->*field)[i] = value, i less than N.
template <class O, class C, class F, size_t N>
void store(hw_mutator *m, const O &object, F (C::*field)[N], size_t i, const detail::same<F> &value) noexcept {
    auto *at = detail::raw(object);
    hw_write(m, at, &(at->*field)[i], detail::word(value));
}

// slot = value, where slot lies anywhere in an object, or outside the heap (hw_write_inside).
template <class F> void store_inside(hw_mutator *m, F &slot, const detail::same<F> &value) noexcept {
    hw_write_inside(m, &slot, detail::word(value));
}

// Stores value if the field holds expected; whether it did (hw_cas).
template <class O, class C, class F>
bool compare_and_store(hw_mutator *m, const O &object, F C::*field, const detail::same<F> &expected,
                       const detail::same<F> &value) noexcept {
    auto *at = detail::raw(object);
    return hw_cas(m, at, &(at->*field), detail::word(expected), detail::word(value));
}

// Plain stores into object are right from now to the next poll, blocking region or allocation (hw_dirty).
template <class O> Error dirty(hw_mutator *m, const O &object) noexcept {
    return result_of(m, hw_dirty(m, detail::raw(object)));
}

// An object whose slots take plain stores as long as this lives, looked at up to a top (hw_plain_begin): a stack of values. The
// object is rooted as long as this lives.
class Plain {
public:
    // n words are in use; HW_PLAIN_ALL: all.
    template <class O> static Result<Plain> begin(hw_mutator *m, const O &object, size_t n) noexcept {
        Plain plain(m, detail::raw(object));
        if (hw_plain_begin(m, plain.object_, n, &plain.top_) == HW_OK) return Result<Plain>(std::move(plain));
        plain.object_ = nullptr;
        return last_error(m);
    }
    Plain(Plain &&other) noexcept : m_(other.m_), object_(std::exchange(other.object_, nullptr)), top_(other.top_) {}
    Plain &operator=(Plain &&other) noexcept {
        if (this != &other) {
            if (object_ != nullptr) hw_plain_end(m_, object_);
            m_ = other.m_;
            object_ = std::exchange(other.object_, nullptr);
            top_ = other.top_;
        }
        return *this;
    }
    ~Plain() {
        if (object_ != nullptr) hw_plain_end(m_, object_);
    }

    // The words in use. Store words before the top is raised over them.
    volatile size_t &top() const noexcept { return *top_; }
    // Ends it now.
    Error end() noexcept {
        void *object = std::exchange(object_, nullptr);
        return result_of(m_, hw_plain_end(m_, object));
    }

private:
    Plain(hw_mutator *m, void *object) noexcept : m_(m), object_(object), top_(nullptr) {}
    hw_mutator *m_;
    void *object_;
    volatile size_t *top_;
};

// -------------------------------------------------------------------------------------------------------- weak things --

// An object of the heap that refers to a T without keeping it alive (hw_weak_new). Fields hold Weak<T> *.
template <class T> class Weak {
public:
    // nullptr on error. object is rooted. May collect.
    template <class O> static Weak *try_make(hw_mutator *m, const O &object) noexcept {
        T *to = detail::raw(object);
        return static_cast<Weak *>(hw_weak_new(m, to));
    }
#ifdef HEAPWOOD_EXCEPTIONS
    template <class O> static Weak *make(hw_mutator *m, const O &object) { return detail::checked(m, try_make(m, object)); }
#endif
    // The object, nullptr if it is dead.
    T *get(hw_mutator *m) noexcept { return static_cast<T *>(hw_weak_get(m, this)); }

    Weak(const Weak &) = delete;
    Weak &operator=(const Weak &) = delete;
};

// An object of the heap that keeps a V alive as long as something else leads to a K (hw_ephemeron_new).
template <class K, class V> class Ephemeron {
public:
    // nullptr on error. key and value are rooted. May collect.
    template <class A, class B> static Ephemeron *try_make(hw_mutator *m, const A &key, const B &value) noexcept {
        K *k = detail::raw(key);
        V *v = detail::raw(value);
        return static_cast<Ephemeron *>(hw_ephemeron_new(m, k, v));
    }
#ifdef HEAPWOOD_EXCEPTIONS
    template <class A, class B> static Ephemeron *make(hw_mutator *m, const A &key, const B &value) {
        return detail::checked(m, try_make(m, key, value));
    }
#endif
    // nullptr if the key is dead.
    K *key(hw_mutator *m) noexcept { return static_cast<K *>(hw_ephemeron_key(m, this)); }
    V *value(hw_mutator *m) noexcept { return static_cast<V *>(hw_ephemeron_value(m, this)); }
    Error set(hw_mutator *m, V *value) noexcept { return result_of(m, hw_ephemeron_set(m, this, value)); }

    Ephemeron(const Ephemeron &) = delete;
    Ephemeron &operator=(const Ephemeron &) = delete;
};

// A table that keeps no key alive, and the value of each as long as something else leads to the key (hw_weak_table_new): by the
// identity of keys, and an object of the heap. Threads share it.
template <class K, class V> class WeakTable {
public:
    // nullptr on error. May collect.
    static WeakTable *try_make(hw_mutator *m) noexcept { return static_cast<WeakTable *>(hw_weak_table_new(m)); }
#ifdef HEAPWOOD_EXCEPTIONS
    static WeakTable *make(hw_mutator *m) { return detail::checked(m, try_make(m)); }
#endif
    // The table, key and value are rooted. May collect.
    template <class A, class B> Error set(hw_mutator *m, const A &key, const B &value) noexcept {
        K *k = detail::raw(key);
        V *v = detail::raw(value);
        return result_of(m, hw_weak_table_set(m, this, k, v));
    }
    // The value; nullptr also if the table does not have the key.
    V *get(hw_mutator *m, K *key) noexcept {
        void *value = nullptr;
        return hw_weak_table_get(m, this, key, &value) ? static_cast<V *>(value) : nullptr;
    }
    bool has(hw_mutator *m, K *key) noexcept { return hw_weak_table_get(m, this, key, nullptr); }
    // Whether the table had the key.
    bool remove(hw_mutator *m, K *key) noexcept { return hw_weak_table_remove(m, this, key); }
    // The keys that no collection has found dead.
    size_t count(hw_mutator *m) noexcept { return hw_weak_table_count(m, this); }

    WeakTable(const WeakTable &) = delete;
    WeakTable &operator=(const WeakTable &) = delete;
};

} // namespace heapwood

#endif
